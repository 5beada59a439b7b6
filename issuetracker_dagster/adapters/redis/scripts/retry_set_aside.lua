#!lua flags=allow-oom
-- Move an entry that doesn't decode out of the way of the others, keeping its bytes.
--
-- KEYS as in retry_schedule.lua, and last {..}:unreadable  HASH identity -> the bytes as they were
-- ARGV[1] identity  ARGV[2] the bytes that didn't decode
-- Returns 1, or 0 when the entry was replaced meanwhile.
local identity = ARGV[1]
if (redis.call('HGET', KEYS[2], identity) or '') ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[#KEYS], identity, ARGV[2])
redis.call('HDEL', KEYS[2], identity)
redis.call('ZREM', KEYS[1], identity)
for key = 3, #KEYS - 1 do
  redis.call('ZREM', KEYS[key], identity)
end
return 1
