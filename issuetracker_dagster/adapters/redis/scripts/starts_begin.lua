#!lua flags=allow-oom
-- Count a start, and forget or take back others on the way.
--
-- KEYS     STRING starts so far: the one to count first (when ARGV[1] is 1), then those that ended, then the withdrawn
-- ARGV[1]  1 to count a start of KEYS[1], else 0  ARGV[2] how many ended  ARGV[3] time to live in ms
-- Returns the starts of KEYS[1], or 0.
local first = tonumber(ARGV[1])
local ended = tonumber(ARGV[2])
for i = first + 1, first + ended do
  redis.call('DEL', KEYS[i])
end
for i = first + ended + 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') <= 1 then
    redis.call('DEL', KEYS[i])
  else
    redis.call('DECR', KEYS[i])
  end
end
if first == 0 then
  return 0
end
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return count
