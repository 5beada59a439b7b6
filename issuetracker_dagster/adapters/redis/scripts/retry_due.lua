#!lua flags=allow-oom
-- The packed entries due at a moment, earliest first; they stay.
--
-- KEYS[1] retry:due  KEYS[2] {..}:entries (see retry_schedule.lua)
-- ARGV[1] now in ms  ARGV[2] limit
-- Returns {identity, packed, identity, packed, ...}.
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', tonumber(ARGV[1]) + 1), 'LIMIT', 0, ARGV[2])
if #due == 0 then
  return {}
end
local packed = redis.call('HMGET', KEYS[2], unpack(due))
local answer = {}
for index, identity in ipairs(due) do
  answer[#answer + 1] = identity
  answer[#answer + 1] = packed[index] or ''
end
return answer
