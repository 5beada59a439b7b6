#!lua flags=allow-oom
-- Forget a host that a taker found empty, unless something was noted about it since.
--
-- KEYS[1..5] as in frontier_note.lua  ARGV[1] host  ARGV[2] the number that frontier_pop gave
-- Returns 1 when the host is forgotten.
local host = ARGV[1]
if (redis.call('HGET', KEYS[2], host) or '') ~= ARGV[2] then
  return 0
end
redis.call('ZREM', KEYS[1], host)
redis.call('HDEL', KEYS[2], host)
redis.call('DECRBY', KEYS[5], redis.call('HGET', KEYS[4], host) or '0')
redis.call('HDEL', KEYS[4], host)
return 1
