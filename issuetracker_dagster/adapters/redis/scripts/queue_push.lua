#!lua
-- Stores a batch in its order. ARGV: max size, backpressure (0 or 1), then member, priority, value of each.
-- Returns added, known, promoted, evicted, and the members refused. The only queue script that a full Redis refuses.
-- include queue_common
local max_size, backpressure = tonumber(ARGV[1]), ARGV[2] == '1'
local members = {}
for at = 3, #ARGV, 3 do
  members[#members + 1] = ARGV[at]
end
local ready, rows = read('ZMSCORE', READY, members), read('HMGET', LEASED, members)
local _, ticks = now()
local tick = math.max(ticks, (tonumber(call('HGET', CLOCK, 'last')) or 0) + 1)
local room = backpressure and max_size - call('ZCARD', READY) or math.huge

local added, values, priorities, place, minutes, refused = {}, {}, {}, {}, {}, {}
local ready_better, row_better, known, promoted = {}, {}, 0, 0
local raised = {} -- member held before -> its score, when this batch has raised it

local function better(score, priority)
  local number = tonumber(score)
  if priority < floor(number / BAND) then
    return exact(priority * BAND + number % BAND)
  end
end

for i, member in ipairs(members) do
  local priority = tonumber(ARGV[3 * i + 1])
  local row, score = rows[i], nil
  known = known + 1
  if place[member] then -- twice in this batch
    if priority < priorities[place[member]] then
      priorities[place[member]] = priority
      promoted = promoted + 1
    end
  elseif ready[i] then
    score = better(raised[member] or ready[i], priority)
    if score then
      raised[member] = score
      ready_better[#ready_better + 1] = score
      ready_better[#ready_better + 1] = member
    end
  elseif row and #row > HEADER then
    local held_score, claim = row_parts(row)
    score = better(raised[member] or held_score, priority)
    if score then
      raised[member] = score
      row_better[#row_better + 1] = member
      row_better[#row_better + 1] = sub(row, 1, HEADER) .. score .. ' ' .. claim
    end
  elseif not row then
    known = known - 1
    if #added < room then
      local value = ARGV[3 * i + 2]
      local minute = sub(value, 4, HEADER)
      local index = #added + 1
      place[member] = index
      added[index] = member
      priorities[index] = priority
      values[2 * index - 1] = member
      values[2 * index] = value
      minutes[minute] = (minutes[minute] or 0) + 1
    else
      refused[#refused + 1] = member
    end
  end
end
promoted = promoted + (#ready_better + #row_better) / 2

local evicted = 0
if #added > 0 then
  local scored = {}
  for index, member in ipairs(added) do
    scored[2 * index - 1] = exact(priorities[index] * BAND + tick / 256)
    scored[2 * index] = member
    tick = tick + 1
  end
  call('HSET', CLOCK, 'last', exact(tick - 1))
  write('HSET', ENTRIES, values)
  write('ZADD', READY, scored)
  for minute, count in pairs(minutes) do
    call('HINCRBY', TIMES, minute, count)
  end
end
write('ZADD', READY, ready_better)
write('HSET', LEASED, row_better)
if #added > 0 then
  -- Bounded, so that a server isn't held up for seconds when the limit was lowered: the next pushes go on.
  local excess = min(call('ZCARD', READY) - max_size, #added + 5 * SLICE)
  while not backpressure and excess > 0 do -- the oldest of the lowest band, then of the next
    local lowest = floor(tonumber(call('ZRANGE', READY, -1, -1, 'WITHSCORES')[2]) / BAND)
    local oldest = call('ZRANGEBYSCORE', READY, exact(lowest * BAND), '+inf', 'LIMIT', 0, min(excess, SLICE))
    send_out(oldest, read('HMGET', ENTRIES, oldest), 'overflow')
    excess, evicted = excess - #oldest, evicted + #oldest
  end
  wake()
end
return {#added, known - promoted, promoted, evicted, refused}
