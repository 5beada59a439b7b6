#!lua flags=allow-oom
-- Remove entries whose due time is still the one given; what was scheduled again meanwhile survives.
--
-- KEYS as in retry_schedule.lua
-- ARGV identity, due ms, identity, due ms, ...
-- Returns how many were removed.
local removed = 0
for index = 1, #ARGV, 2 do
  local identity = ARGV[index]
  local score = redis.call('ZSCORE', KEYS[1], identity)
  if score and math.floor(tonumber(score)) == tonumber(ARGV[index + 1]) then
    redis.call('ZREM', KEYS[1], identity)
    redis.call('HDEL', KEYS[2], identity)
    for key = 3, #KEYS do
      redis.call('ZREM', KEYS[key], identity)
    end
    removed = removed + 1
  end
end
return removed
