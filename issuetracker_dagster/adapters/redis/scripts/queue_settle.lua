#!lua flags=allow-oom
-- What holders do with their leases. ARGV: ack | release | nack | extend, milliseconds (delay or lease), then the leases in
-- groups (claim, count, members). Returns the members whose lease isn't the presenter's; nothing happens to those.
-- include queue_common
local verb, milliseconds = ARGV[1], tonumber(ARGV[2])
local ms = now()
local mine, rows, refused = presented(3, '')
if verb == 'ack' then
  finish(mine, rows)
elseif verb == 'release' then
  restore(mine, rows, DEADLINES)
  if #mine > 0 then
    wake()
  end
elseif verb == 'extend' then
  local deadlines = {}
  for i, member in ipairs(mine) do
    deadlines[2 * i - 1], deadlines[2 * i] = exact(ms + milliseconds), member
  end
  write('ZADD', DEADLINES, deadlines)
else
  local due, marked = {}, {}
  for i, member in ipairs(mine) do
    local score, claim = row_parts(rows[i])
    due[2 * i - 1], due[2 * i] = exact(ms + milliseconds), member
    marked[2 * i - 1], marked[2 * i] = member, sub(rows[i], 1, HEADER) .. score .. ' ~' .. claim
  end
  write('ZREM', DEADLINES, mine)
  write('ZADD', DELAYED, due)
  write('HSET', LEASED, marked)
  if #mine > 0 and call('ZRANGE', DELAYED, 0, 0)[1] == mine[1] then
    wake() -- a sleeper must learn of a nearer due time
  end
  if #refused > 0 then -- sent again after a lost reply: what this claim has delayed already isn't stale
    local _, _, still = presented(3, '~')
    refused = still
  end
end
return refused
