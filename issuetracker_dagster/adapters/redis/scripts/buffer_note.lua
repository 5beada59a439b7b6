#!lua flags=allow-oom
-- Keep a small note, also on a server that is full.
--
-- KEYS[1] publisher:buffer:on  ARGV[1] its text; empty removes it
if ARGV[1] == '' then
  return redis.call('DEL', KEYS[1])
end
redis.call('SET', KEYS[1], ARGV[1])
return 1
