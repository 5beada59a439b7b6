#!lua flags=allow-oom
-- Remove a value if it is still the caller's.
--
-- KEYS[1] a lock or marker  ARGV[1] the caller's value
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('DEL', KEYS[1])
