#!lua flags=allow-oom
-- Count a start, and forget or take back others on the way. Repeated after a lost reply it counts once.
--
-- KEYS     STRING "<starts so far> <token of the latest>": the one to count first (when ARGV[1] is 1), then those that
--          ended, then the withdrawn
-- ARGV[1]  1 to count a start of KEYS[1], else 0  ARGV[2] how many ended  ARGV[3] time to live in ms
-- ARGV[4]  starts from which on no further one is counted, -1 for none  ARGV[5] token of this start
-- Returns the starts of KEYS[1], this one included, or 0.
local function starts(key)
  local value = redis.call('GET', key) or '0'
  return tonumber(string.match(value, '^%d+')), string.match(value, ' (.+)$')
end

local first = tonumber(ARGV[1])
local ended = tonumber(ARGV[2])
if first == 1 then
  local so_far, latest = starts(KEYS[1])
  if latest == ARGV[5] then
    return so_far
  end
end
for i = first + 1, first + ended do
  redis.call('DEL', KEYS[i])
end
for i = first + ended + 1, #KEYS do
  local so_far = starts(KEYS[i])
  if so_far <= 1 then
    redis.call('DEL', KEYS[i])
  else
    redis.call('SET', KEYS[i], so_far - 1, 'KEEPTTL')
  end
end
if first == 0 then
  return 0
end
local most = tonumber(ARGV[4])
local so_far = starts(KEYS[1])
if most >= 0 and so_far >= most then
  return so_far + 1
end
redis.call('SET', KEYS[1], (so_far + 1) .. ' ' .. ARGV[5], 'PX', ARGV[3])
return so_far + 1
