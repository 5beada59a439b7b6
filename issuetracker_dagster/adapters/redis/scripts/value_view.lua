#!lua flags=allow-oom,no-writes
-- A value and for how long it lasts.
--
-- KEYS[1] a lock or marker
-- Returns {value, ms}, or nothing.
local value = redis.call('GET', KEYS[1])
if not value then
  return false
end
return {value, redis.call('PTTL', KEYS[1])}
