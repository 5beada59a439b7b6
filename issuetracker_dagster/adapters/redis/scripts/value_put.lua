#!lua flags=allow-oom
-- Set a value with a time to live, whatever was there.
--
-- KEYS[1] a marker  ARGV[1] value  ARGV[2] time to live in ms
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
