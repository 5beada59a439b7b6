#!lua flags=allow-oom
-- Makes sure that the queue has an epoch and a format. ARGV: a random epoch, the format. Returns both as they stand, and
-- whether the epoch is new because another server took over.
--
-- A replica that takes over may lack the last writes, among them messages whose offsets are committed. So its queue is
-- taken for a lost one, which the intake fills again: what it holds is known then, and what is missing comes back.
-- include queue_common
-- include history_common
local HISTORY = KEYS[#KEYS]

local id, _, before = unpack(history())
local seen = call('GET', HISTORY)
local taken_over = seen and seen ~= id and before ~= ''
if seen ~= id then
  call('SET', HISTORY, id)
end
if taken_over and call('EXISTS', EPOCH) == 1 then
  call('SET', EPOCH, ARGV[1])
end
call('SET', EPOCH, ARGV[1], 'NX')
call('SET', FORMAT, ARGV[2], 'NX')
return {call('GET', EPOCH), call('GET', FORMAT), taken_over and 1 or 0}
