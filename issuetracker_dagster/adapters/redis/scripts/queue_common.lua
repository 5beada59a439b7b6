-- What every queue script shares: the keys in their order, time, and the moves between states.
--
--   READY      ZSET  member -> score              waiting, in order
--   ENTRIES    HASH  member -> header + envelope  header: deliveries so far (3 digits), source minute (8 digits)
--   DEADLINES  ZSET  member -> lease deadline, ms
--   LEASED     HASH  member -> row                everything held that isn't ready, by one look-up:
--                      leased   header score " " claim     (its deliveries count this one)
--                      delayed  header score " ~" claim    (the claim that gave it back)
--                      outbox   header
--   DELAYED    ZSET  member -> due, ms
--   OUTBOX     LIST  "reason length member" + header + envelope, on the way to the DLQ
--   CLOCK      HASH  last: arrival of the newest entry in 1/256 ms; credit: of the guard against starvation
--   WAKE       LIST  one token while anything is ready
--   EPOCH, FORMAT    strings
--   TIMES      HASH  source minute -> members held
--   CLAIMS     two HASHes, one a period in turn, claim -> its answer, for a claim that is sent again
--
-- Scores are strings wherever they are kept: a Lua number in a reply, `tostring` and cjson drop their fraction.
local READY, ENTRIES, DEADLINES, LEASED, DELAYED, OUTBOX = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local CLOCK, WAKE, EPOCH, FORMAT, TIMES = KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
local CLAIMS = {KEYS[12], KEYS[13]}

local BAND = 1e13
local HEADER = 11
local SLICE = 1000 -- words a call: `unpack` is bound by Lua's C stack; even, since many calls take pairs

local sub, format, floor, min, call = string.sub, string.format, math.floor, math.min, redis.call

local function exact(number)
  return format('%.17g', number)
end

-- Redis' own clock in whole milliseconds, and in 1/256 ms.
local function now()
  local time = call('TIME')
  local seconds, micros = tonumber(time[1]), tonumber(time[2])
  return seconds * 1000 + floor(micros / 1000), seconds * 256000 + floor(micros * 256 / 1000)
end

local function write(command, key, words)
  for first = 1, #words, SLICE do
    call(command, key, unpack(words, first, min(first + SLICE - 1, #words)))
  end
end

local function read(command, key, words)
  if #words == 0 then
    return {}
  end
  if #words <= SLICE then
    return call(command, key, unpack(words))
  end
  local all = {}
  for first = 1, #words, SLICE do
    for _, value in ipairs(call(command, key, unpack(words, first, min(first + SLICE - 1, #words)))) do
      all[#all + 1] = value
    end
  end
  return all
end

local function wake()
  if call('EXISTS', WAKE) == 0 then
    call('LPUSH', WAKE, '1')
  end
end

-- Score and claim of a row that is leased or delayed.
local function row_parts(row)
  local space = string.find(row, ' ', HEADER + 1, true)
  return sub(row, HEADER + 1, space - 1), sub(row, space + 1)
end

local function settled(minutes)
  for minute, count in pairs(minutes) do
    if call('HINCRBY', TIMES, minute, -count) <= 0 then
      call('HDEL', TIMES, minute)
    end
  end
end

-- ARGV from `at` on holds groups: claim, count, members. Returns the members that this claim still holds with their
-- rows, and those that it doesn't (`mark` is put before the claim to find what it has delayed).
local function presented(at, mark)
  local mine, rows, refused, seen = {}, {}, {}, {}
  while at < #ARGV do
    local claim, count = mark .. ARGV[at], tonumber(ARGV[at + 1])
    local members = {}
    for i = 1, count do
      members[i] = ARGV[at + 1 + i]
    end
    local any = false
    for i, row in ipairs(read('HMGET', LEASED, members)) do
      local member = members[i]
      local space = row and string.find(row, ' ', HEADER + 1, true)
      if space and sub(row, space + 1) == claim and not seen[member] then
        seen[member] = true
        any = true
        mine[#mine + 1] = member
        rows[#rows + 1] = row
      else
        refused[#refused + 1] = member
      end
    end
    if any then -- whoever presents a lease has had the answer to its claim
      call('HDEL', CLAIMS[1], claim)
      call('HDEL', CLAIMS[2], claim)
    end
    at = at + 2 + count
  end
  return mine, rows, refused
end

local function finish(members, rows)
  local minutes = {}
  for i = 1, #rows do
    local minute = sub(rows[i], 4, HEADER)
    minutes[minute] = (minutes[minute] or 0) + 1
  end
  write('ZREM', DEADLINES, members)
  write('HDEL', LEASED, members)
  write('HDEL', ENTRIES, members)
  settled(minutes)
end

-- Back at the original score. The members' places in `from` (DEADLINES or DELAYED) are given up.
local function restore(members, rows, from)
  local scored = {}
  for i, member in ipairs(members) do
    scored[2 * i - 1] = row_parts(rows[i])
    scored[2 * i] = member
  end
  write('ZREM', from, members)
  write('HDEL', LEASED, members)
  write('ZADD', READY, scored)
end

-- Ready members leave for the outbox; until they are published there they count as held. One without an entry just leaves.
local function send_out(members, values, reason)
  local elements, rows = {}, {}
  for i, member in ipairs(members) do
    if values[i] then
      elements[#elements + 1] = reason .. ' ' .. #member .. ' ' .. member .. values[i]
      rows[#rows + 1] = member
      rows[#rows + 1] = sub(values[i], 1, HEADER)
    end
  end
  write('ZREM', READY, members)
  write('HDEL', ENTRIES, members)
  write('HSET', LEASED, rows)
  write('RPUSH', OUTBOX, elements)
end

-- Expired leases and due delays come back, at most `limit`. Returns how many of each.
local function bring_back(ms, limit)
  local expired = call('ZRANGEBYSCORE', DEADLINES, '-inf', exact(ms), 'LIMIT', 0, limit)
  if #expired > 0 then
    local rows, values, delivered = read('HMGET', LEASED, expired), read('HMGET', ENTRIES, expired), {}
    for i, member in ipairs(expired) do
      if values[i] then -- else a foreign hand was there, and the next claim finds that nothing is left of it
        delivered[#delivered + 1] = member
        delivered[#delivered + 1] = sub(rows[i], 1, 3) .. sub(values[i], 4)
      end
    end
    write('HSET', ENTRIES, delivered)
    restore(expired, rows, DEADLINES)
  end
  local due = {}
  if #expired < limit then
    due = call('ZRANGEBYSCORE', DELAYED, '-inf', exact(ms), 'LIMIT', 0, limit - #expired)
    if #due > 0 then
      restore(due, read('HMGET', LEASED, due), DELAYED)
    end
  end
  return #expired, #due
end

-- Ready entries that arrived at or before `cutoff` (ms) leave as expired, at most `limit`. Returns how many.
local function age_out(cutoff, limit)
  local count = 0
  for band = 1, 3 do
    if count < limit then
      local old = call('ZRANGEBYSCORE', READY, exact(band * BAND), exact(band * BAND + cutoff), 'LIMIT', 0, limit - count)
      if #old > 0 then
        send_out(old, read('HMGET', ENTRIES, old), 'expired')
        count = count + #old
      end
    end
  end
  return count
end
