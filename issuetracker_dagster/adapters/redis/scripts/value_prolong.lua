#!lua flags=allow-oom
-- Let a value last `ARGV[2]` ms from now if it is still the caller's; creates nothing.
--
-- KEYS[1] a lock  ARGV[1] the caller's value  ARGV[2] time to live in ms
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
