#!lua flags=allow-oom
-- Note what the band waits for, or that it waits no more; also on a server that is full.
--
-- KEYS[1] {..}:paused  what waits in the retry set  KEYS[2] {..}:epoch  the highest epoch that has been here
-- ARGV[1] epoch  ARGV[2] the text; empty removes it
-- Returns the newer epoch that has been here, or false.
local highest = redis.call('GET', KEYS[2])
if highest and tonumber(highest) > tonumber(ARGV[1]) then
  return highest
end
if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[2])
end
return false
