#!lua flags=allow-oom
-- Decide in one step whether a host may be asked now: block, breaker, concurrency and rate; a refusal takes nothing.
--
-- KEYS[1] host:{<authority>}:gate     HASH next_free (ms, with fraction), blocked_until, failures, open_until, probe
-- KEYS[2] host:{<authority>}:permits  ZSET permit id -> when it lapses in ms, so that a dead worker doesn't keep it
-- ARGV[1] permit id  ARGV[2] requests per hour, 0 = no limit  ARGV[3] burst  ARGV[4] concurrency  ARGV[5] permit's life in ms
-- ARGV[6] ms after which a host at its concurrency is asked again  ARGV[7] the same while a probe is out
-- ARGV[8] ms for which an idle host is remembered
-- Returns {'', '0'}, or {reason, the earliest ms at which asking again makes sense}. A permit already held is confirmed.
--
-- The rate is a leaky bucket kept as one time (GCRA): next_free is when the bucket would be empty again; a request may be
-- `burst - 1` intervals early. It is capped by the present rule, so that a rule made faster acts at once.
local gate, permits = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function refuse(reason, due)
  return { reason, string.format('%.0f', math.ceil(due)) }
end

redis.call('ZREMRANGEBYSCORE', permits, '-inf', string.format('%.0f', now))
if redis.call('ZSCORE', permits, ARGV[1]) then
  return { '', '0' }
end
local kept = redis.call('HMGET', gate, 'next_free', 'blocked_until', 'open_until', 'probe')
local blocked_until, open_until = tonumber(kept[2] or '0'), tonumber(kept[3] or '0')
if blocked_until > now then
  return refuse('blocked', blocked_until)
end
if open_until > now then
  return refuse('breaker', open_until)
end
local probing = open_until > 0
if probing and kept[4] and redis.call('ZSCORE', permits, kept[4]) then
  return refuse('probe', now + tonumber(ARGV[7]))
end
if redis.call('ZCARD', permits) >= math.max(tonumber(ARGV[4]), 1) then
  return refuse('concurrency', now + tonumber(ARGV[6]))
end
local remembered = now
if tonumber(ARGV[2]) > 0 then
  local interval, burst = 3600000 / tonumber(ARGV[2]), math.max(tonumber(ARGV[3]), 1)
  local next_free = math.min(math.max(tonumber(kept[1] or '0'), now), now + interval * burst)
  local due = math.ceil(next_free - interval * (burst - 1))
  if due > now then
    return refuse('rate', due)
  end
  remembered = next_free + interval
  redis.call('HSET', gate, 'next_free', string.format('%.3f', remembered))
end
if probing then
  redis.call('HSET', gate, 'probe', ARGV[1])
end
redis.call('ZADD', permits, string.format('%.0f', now + tonumber(ARGV[5])), ARGV[1])
redis.call('PEXPIRE', permits, string.format('%.0f', math.max(redis.call('PTTL', permits), tonumber(ARGV[5]) + 1000)))
redis.call('PEXPIRE', gate, string.format('%.0f', remembered - now + tonumber(ARGV[8])))
return { '', '0' }
