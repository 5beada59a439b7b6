#!lua
-- Stores a batch in its order. ARGV: max size, backpressure (0 or 1), the priorities of all as one digit each, then
-- member and value of each: a word less to send, to copy and to intern for every entry.
-- Returns added, known, promoted, evicted, and the members refused. The only queue script that a full Redis refuses.
-- include queue_common
local max_size, backpressure, digits = tonumber(ARGV[1]), ARGV[2] == '1', ARGV[3]
local members = {}
for i = 1, #digits do
  members[i] = ARGV[2 * i + 2]
end
local ready, rows = read('ZMSCORE', READY, members), read('HMGET', LEASED, members)
local _, ticks = now()
local tick = math.max(ticks, (tonumber(call('HGET', CLOCK, 'last')) or 0) + 1)
local room = backpressure and max_size - call('ZCARD', READY) or math.huge

local count, values, scored, place, minutes, refused = 0, {}, {}, {}, {}, {}
local ready_better, row_better, known, promoted = {}, {}, 0, 0
local raised = {} -- member held before -> its score, when this batch has raised it

local function better(score, priority)
  local number = tonumber(score)
  if priority < floor(number / BAND) then
    return exact(priority * BAND + number % BAND)
  end
end

for i = 1, #members do
  local member, priority, row = members[i], string.byte(digits, i) - 48, rows[i]
  local at = place[member]
  if not at and not ready[i] and not row then
    if count < room then
      local value = ARGV[2 * i + 3]
      local minute = sub(value, 4, HEADER)
      at = 2 * count + 1
      count = count + 1
      place[member] = at
      scored[at] = priority * BAND + tick / 256 -- a number: the server writes it out exactly, and faster than `exact`
      scored[at + 1] = member
      values[at] = member
      values[at + 1] = value
      minutes[minute] = (minutes[minute] or 0) + 1
      tick = tick + 1
    else
      refused[#refused + 1] = member
    end
  else
    known = known + 1
    if at then -- twice in this batch
      local score = better(scored[at], priority)
      if score then
        scored[at] = score
        promoted = promoted + 1
      end
    elseif ready[i] then
      local score = better(raised[member] or ready[i], priority)
      if score then
        raised[member] = score
        ready_better[#ready_better + 1] = score
        ready_better[#ready_better + 1] = member
      end
    elseif #row > HEADER then
      local held_score, claim = row_parts(row)
      local score = better(raised[member] or held_score, priority)
      if score then
        raised[member] = score
        row_better[#row_better + 1] = member
        row_better[#row_better + 1] = sub(row, 1, HEADER) .. score .. ' ' .. claim
      end
    end
  end
end
promoted = promoted + (#ready_better + #row_better) / 2

local evicted = 0
if count > 0 then
  call('HSET', CLOCK, 'last', exact(tick - 1))
  write('HSET', ENTRIES, values)
  write('ZADD', READY, scored)
  for minute, of_minute in pairs(minutes) do
    call('HINCRBY', TIMES, minute, of_minute)
  end
end
write('ZADD', READY, ready_better)
write('HSET', LEASED, row_better)
if count > 0 then
  -- Bounded, so that a server isn't held up for seconds when the limit was lowered: the next pushes go on.
  local excess = min(call('ZCARD', READY) - max_size, count + 5 * SLICE)
  while not backpressure and excess > 0 do -- the oldest of the lowest band, then of the next
    local lowest = floor(tonumber(call('ZRANGE', READY, -1, -1, 'WITHSCORES')[2]) / BAND)
    local oldest = call('ZRANGEBYSCORE', READY, exact(lowest * BAND), '+inf', 'LIMIT', 0, min(excess, SLICE))
    send_out(oldest, read('HMGET', ENTRIES, oldest), 'overflow')
    excess, evicted = excess - #oldest, evicted + #oldest
  end
  wake()
end
return {count, known - promoted, promoted, evicted, refused}
