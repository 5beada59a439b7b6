#!lua flags=no-writes
-- Returns how many are ready, and in how many ms the next lease or delay falls due (-1: none; 0: now).
-- include queue_common
local ms = now()
local next_due = math.huge
for _, key in ipairs({DEADLINES, DELAYED}) do
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if head then
    next_due = min(next_due, math.max(0, tonumber(head) - ms))
  end
end
return {call('ZCARD', READY), next_due == math.huge and -1 or next_due}
