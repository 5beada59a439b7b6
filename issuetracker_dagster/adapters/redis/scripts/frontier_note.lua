#!lua flags=allow-oom
-- Note when a host is looked at again and how many jobs wait for it. Each note gets a number, by which a taker that found
-- the host empty learns that it isn't any more.
--
-- KEYS[1] frontier:due  KEYS[2] {frontier:due}:seen (see frontier_pop.lua)
-- KEYS[3] {frontier:due}:numbers   STRING the last number given out
-- KEYS[4] {frontier:due}:sizes     HASH host -> jobs waiting, as last counted
-- KEYS[5] {frontier:due}:size      STRING the sum of them
-- KEYS[6] {frontier:due}:outboxes  SET hosts with entries on their way to the DLQ
-- ARGV[1] host
-- ARGV[2] `by`: at ARGV[3] ms or when it was going to be, whichever is sooner
--         `at`: at ARGV[3] ms
--         `in`: in ARGV[3] ms, or sooner if somebody noted so since the number in ARGV[6]
--         `unless noted`: in ARGV[3] ms if the host isn't there; one that is stays where it is
-- ARGV[4] jobs waiting, or empty when not counted  ARGV[5] `1` when the host's outbox holds something
-- ARGV[6] for `in`: the number that frontier_pop gave
local host, how, due = ARGV[1], ARGV[2], tonumber(ARGV[3])
if how == 'in' or how == 'unless noted' then
  local time = redis.call('TIME')
  due = due + time[1] * 1000 + math.floor(time[2] / 1000)
end
due = string.format('%.0f', due)
if how == 'at' or (how == 'in' and (redis.call('HGET', KEYS[2], host) or '') == ARGV[6]) then
  redis.call('ZADD', KEYS[1], due, host)
elseif how == 'unless noted' then
  redis.call('ZADD', KEYS[1], 'NX', due, host)
else
  redis.call('ZADD', KEYS[1], 'LT', due, host)
end
redis.call('HSET', KEYS[2], host, redis.call('INCR', KEYS[3]))
if ARGV[4] ~= '' then
  local before = tonumber(redis.call('HGET', KEYS[4], host) or '0')
  redis.call('HSET', KEYS[4], host, ARGV[4])
  redis.call('INCRBY', KEYS[5], tonumber(ARGV[4]) - before)
end
if ARGV[5] == '1' then
  redis.call('SADD', KEYS[6], host)
end
return 1
