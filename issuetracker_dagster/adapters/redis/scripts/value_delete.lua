#!lua flags=allow-oom
-- Remove a value if it is still the caller's.
--
-- KEYS[1] a lock or marker  ARGV the values that are the caller's
local value = redis.call('GET', KEYS[1])
for _, own in ipairs(ARGV) do
  if value == own then
    return redis.call('DEL', KEYS[1])
  end
end
return 0
