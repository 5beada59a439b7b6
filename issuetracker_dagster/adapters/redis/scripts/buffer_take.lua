#!lua flags=allow-oom
-- Move the oldest in line to an epoch's draining list; what it holds already is returned again, unless it is done.
--
-- KEYS[1] publisher:buffer:normal  LIST entries in line, the oldest at its head
-- KEYS[2] {..}:epoch               the highest epoch that has been here
-- KEYS[3] {..}:drains              HASH epoch -> word of the batch in its draining list
-- KEYS[4] {..}:draining:<epoch>    LIST what that epoch took and isn't done with, in order
-- ARGV[1] epoch  ARGV[2] most entries  ARGV[3] word of this batch
-- ARGV[4] word of the batch that is in Kafka or kept elsewhere and is forgotten first, else empty
-- Returns {the newer epoch that has been here, or false; word of the batch, entry, entry, ...}.
local epoch, limit = ARGV[1], tonumber(ARGV[2])
local highest = redis.call('GET', KEYS[2])
if highest and tonumber(highest) > tonumber(epoch) then
  return {highest}
end
if highest ~= epoch then
  redis.call('SET', KEYS[2], epoch)
end
local word = redis.call('HGET', KEYS[3], epoch)
if word and word == ARGV[4] then
  redis.call('UNLINK', KEYS[4])
  redis.call('HDEL', KEYS[3], epoch)
elseif word then
  return {false, word, redis.call('LRANGE', KEYS[4], 0, -1)}
end
local taken = limit > 0 and redis.call('LPOP', KEYS[1], limit)
if not taken then
  return {false, '', {}}
end
redis.call('HSET', KEYS[3], epoch, ARGV[3])
for first = 1, #taken, 1000 do
  redis.call('RPUSH', KEYS[4], unpack(taken, first, math.min(first + 999, #taken)))
end
return {false, ARGV[3], taken}
