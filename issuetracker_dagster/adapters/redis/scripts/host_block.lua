#!lua flags=allow-oom
-- Nobody may ask the host before a time; a later one that is already set stays.
--
-- KEYS[1] host:{<authority>}:gate (see host_enter.lua)
-- ARGV[1] until, in ms  ARGV[2] ms for which an idle host is remembered
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local blocked_until = math.max(tonumber(redis.call('HGET', KEYS[1], 'blocked_until') or '0'), tonumber(ARGV[1]))
redis.call('HSET', KEYS[1], 'blocked_until', string.format('%.0f', blocked_until))
local remembered = math.max(redis.call('PTTL', KEYS[1]), blocked_until - now + tonumber(ARGV[2]), tonumber(ARGV[2]))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', remembered))
return 1
