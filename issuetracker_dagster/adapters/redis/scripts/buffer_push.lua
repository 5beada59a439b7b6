#!lua
-- Append a batch to the line; beyond the limit the oldest in line move to the outbox.
--
-- KEYS[1] publisher:buffer:normal  LIST entries in line, the oldest at its head
-- KEYS[2] {..}:outbox              LIST entries that fell out, on their way to the DLQ
-- KEYS[3] {..}:pushes              ZSET word of a push -> when, ms; the latest 1000
-- ARGV[1] most entries in line, 0 = no limit  ARGV[2] word of this push  ARGV[3..] entries
-- Returns how many fell out; 0 for a push that is sent again under its word.
--
-- Without allow-oom: a full server refuses, and who publishes goes straight to Kafka.
local SLICE = 1000 -- words a call: `unpack` is bound by Lua's C stack
local line, outbox, limit = KEYS[1], KEYS[2], tonumber(ARGV[1])
local time = redis.call('TIME')
if redis.call('ZADD', KEYS[3], 'NX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[2]) == 0 then
  return 0
end
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1001)
local length = 0
for first = 3, #ARGV, SLICE do
  length = redis.call('RPUSH', line, unpack(ARGV, first, math.min(first + SLICE - 1, #ARGV)))
end
local surplus = limit > 0 and math.max(length - limit, 0) or 0
for first = 1, surplus, SLICE do
  local oldest = redis.call('LPOP', line, math.min(SLICE, surplus - first + 1))
  redis.call('RPUSH', outbox, unpack(oldest))
end
return surplus
