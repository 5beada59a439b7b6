#!lua flags=allow-oom
-- Count a failure in a row. At the limit, and again when a probe fails, the breaker opens.
--
-- KEYS[1] host:{<authority>}:gate (see host_enter.lua)
-- ARGV[1] failures that open  ARGV[2] ms for which it stays open  ARGV[3] ms for which an idle host is remembered
-- Returns 1 when this failure opened the breaker. Failures of requests that were under way when it opened don't count.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if tonumber(redis.call('HGET', KEYS[1], 'open_until') or '0') > now then
  return 0
end
local failures = redis.call('HINCRBY', KEYS[1], 'failures', 1)
local remembered = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[2]) + tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', remembered))
if failures < tonumber(ARGV[1]) then
  return 0
end
redis.call('HSET', KEYS[1], 'open_until', string.format('%.0f', now + tonumber(ARGV[2])))
redis.call('HDEL', KEYS[1], 'probe')
return 1
