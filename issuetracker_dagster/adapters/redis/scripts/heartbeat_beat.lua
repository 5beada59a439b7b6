#!lua flags=allow-oom
-- Note a sign of life under the server's own time. It stays until it is cleared, so that its age can be judged.
--
-- KEYS[1] worker:<stage>  HASH slot -> "<ms>:<JSON of run_id and info>"
-- ARGV[1] slot  ARGV[2] the JSON
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], ARGV[1], now .. ':' .. ARGV[2])
return 1
