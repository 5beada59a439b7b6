#!lua flags=allow-oom
-- A further request goes to the host under a permit already held: the bucket of host_enter.lua takes it, full or not.
--
-- KEYS[1] host:{<authority>}:gate (see host_enter.lua)
-- ARGV[1] requests per hour, above 0  ARGV[2] ms for which an idle host is remembered
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local next_free = math.max(tonumber(redis.call('HGET', KEYS[1], 'next_free') or '0'), now) + 3600000 / tonumber(ARGV[1])
redis.call('HSET', KEYS[1], 'next_free', string.format('%.3f', next_free))
local remembered = math.max(redis.call('PTTL', KEYS[1]), next_free - now + tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', remembered))
return 1
