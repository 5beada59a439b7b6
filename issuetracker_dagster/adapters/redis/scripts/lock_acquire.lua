#!lua flags=allow-oom
-- Take a lock unless another holds it, and give its holder a higher epoch than any before.
--
-- KEYS[1] lock:<name>          STRING the holder's token, with a time to live
-- KEYS[2] {lock:<name>}:epoch  STRING the last epoch given out; never expires
-- ARGV[1] token  ARGV[2] time to live in ms
-- Returns the epoch as a string, or nil while another holds the lock. The same token again gets the epoch it has.
--
-- An epoch is at least the server's time in ms, so that it goes on growing when the server came back without its data.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return false
end
local last = tonumber(redis.call('GET', KEYS[2]) or '0')
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if holder and last > 0 then
  return string.format('%.0f', last)
end
local time = redis.call('TIME')
local epoch = string.format('%.0f', math.max(last + 1, time[1] * 1000 + math.floor(time[2] / 1000)))
redis.call('SET', KEYS[2], epoch)
return epoch
