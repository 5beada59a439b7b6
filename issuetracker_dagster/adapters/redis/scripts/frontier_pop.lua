#!lua flags=allow-oom
-- Hand out the hosts that are due, each to one taker: the others don't see it again before the hold is over.
--
-- KEYS[1] frontier:due          ZSET host -> ms at which it is looked at again; holds every host with jobs, leased ones too
-- KEYS[2] {frontier:due}:seen   HASH host -> number of the last note about it (see frontier_note.lua)
-- ARGV[1] limit  ARGV[2] hold in ms
-- Returns {host, number, host, number, ...}, the longest due first.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held_until = string.format('%.0f', now + tonumber(ARGV[2]))
local answer = {}
for _, host in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[1])) do
  redis.call('ZADD', KEYS[1], held_until, host)
  answer[#answer + 1] = host
  answer[#answer + 1] = redis.call('HGET', KEYS[2], host) or ''
end
return answer
