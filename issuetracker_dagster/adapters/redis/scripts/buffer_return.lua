#!lua flags=allow-oom
-- Put what some epochs were draining back to the head of the line, in order.
--
-- KEYS[1] publisher:buffer:normal  LIST entries in line, the oldest at its head
-- KEYS[2] {..}:epoch               the highest epoch that has been here
-- KEYS[3] {..}:drains              HASH epoch -> word of the batch in its draining list
-- KEYS[4..] {..}:draining:<epoch>  LIST of each epoch of ARGV, in that order
-- ARGV[1] the caller's epoch  ARGV[2..] epochs whose lists come back, the newest first
-- Returns {the newer epoch that has been here, or false; how many entries came back}.
local epoch = ARGV[1]
local highest = redis.call('GET', KEYS[2])
if highest and tonumber(highest) > tonumber(epoch) then
  return {highest, 0}
end
if highest ~= epoch then
  redis.call('SET', KEYS[2], epoch)
end
local count = 0
for index = 2, #ARGV do
  local draining = KEYS[index + 2]
  local held = redis.call('LRANGE', draining, 0, -1)
  for last = #held, 1, -1000 do
    local slice = {}
    for place = last, math.max(last - 999, 1), -1 do
      slice[#slice + 1] = held[place]
    end
    redis.call('LPUSH', KEYS[1], unpack(slice))
  end
  redis.call('UNLINK', draining)
  redis.call('HDEL', KEYS[3], ARGV[index])
  count = count + #held
end
return {false, count}
