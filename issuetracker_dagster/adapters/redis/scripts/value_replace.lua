#!lua flags=allow-oom
-- Set a value with a time to live if the one that is there is still the caller's; creates nothing.
--
-- KEYS[1] a marker  ARGV[1] the caller's value  ARGV[2] what takes its place  ARGV[3] time to live in ms
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
