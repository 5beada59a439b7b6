#!lua flags=allow-oom
-- Set a value with a time to live where there is none, or the same one already.
--
-- KEYS[1] a lock or marker  ARGV[1] value  ARGV[2] time to live in ms
-- Returns 1, or 0 while another value is there.
local value = redis.call('GET', KEYS[1])
if value and value ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
