#!lua
-- Keep entries of the retry set until their due times; an entry of the same identity is replaced.
--
-- KEYS[1]   retry:due            ZSET identity -> due ms, plus its place among equals in 1/1024 ms
-- KEYS[2]   {..}:entries         HASH identity -> packed entry
-- KEYS[3..] {..}:source:<stage>  ZSET identity -> Kafka time in ms, one key a stage
-- ARGV of each entry: identity, due ms, packed entry, index of the stage's key (from 1), Kafka time
--
-- Equal due times keep the order in which they were scheduled: a batch that the broker refused goes back as it was. A
-- double holds 1/1024 ms exactly until 2248; past 1024 entries of one millisecond the rest share its last step.
for first = 1, #ARGV, 5 do
  local identity, due = ARGV[first], tonumber(ARGV[first + 1])
  redis.call('ZREM', KEYS[1], identity)
  local last = redis.call('ZRANGE', KEYS[1], string.format('(%.0f', due + 1), string.format('%.0f', due), 'BYSCORE',
    'REV', 'LIMIT', 0, 1, 'WITHSCORES')
  local place = due
  if last[2] then
    place = math.min(tonumber(last[2]) + 1 / 1024, due + 1023 / 1024)
  end
  redis.call('ZADD', KEYS[1], string.format('%.17g', place), identity)
  redis.call('HSET', KEYS[2], identity, ARGV[first + 2])
  for index = 3, #KEYS do
    if index - 2 == tonumber(ARGV[first + 3]) then
      redis.call('ZADD', KEYS[index], ARGV[first + 4], identity)
    else
      redis.call('ZREM', KEYS[index], identity)
    end
  end
end
return #ARGV / 5
