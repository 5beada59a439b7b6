#!lua flags=allow-oom
-- Take a sign of life away if it is still this run's.
--
-- KEYS[1] worker:<stage> (see heartbeat_beat.lua)  ARGV[1] slot  ARGV[2] run id
local beat = redis.call('HGET', KEYS[1], ARGV[1])
if not beat or cjson.decode(string.sub(beat, string.find(beat, ':', 1, true) + 1)).run_id ~= ARGV[2] then
  return 0
end
return redis.call('HDEL', KEYS[1], ARGV[1])
