#!lua flags=allow-oom
-- Acknowledges finished members, then leases the next in order, in one step.
-- ARGV: claim, limit, lease ms, entry ttl ms (0: none), max deliveries, max wait ms (0: off), its share, claims period ms,
-- then the acks in groups (claim, count, members).
-- Returns refused acks, members, scores, values; and how many leases expired, entries aged out, were delivered too often.
-- include queue_common
local claim, limit, lease, ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local max_deliveries, max_wait, share, period = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local ACKS = 9
local LONG = string.rep('\0', 65)
local ms = now()
local deadline = exact(ms + lease)

local earlier = call('HGET', CLAIMS[1], claim) or call('HGET', CLAIMS[2], claim)
if earlier then -- the answer was lost: the same again, as far as it still holds
  local answer = cmsgpack.unpack(earlier)
  local members, scores, deadlines = {}, {}, {}
  for i, row in ipairs(read('HMGET', LEASED, answer[2])) do
    if row and #row > HEADER then
      local score, holder = row_parts(row)
      if holder == claim then
        members[#members + 1] = answer[2][i]
        scores[#scores + 1] = score
        deadlines[#deadlines + 1] = deadline
        deadlines[#deadlines + 1] = answer[2][i]
      end
    end
  end
  write('ZADD', DEADLINES, deadlines)
  return {answer[1], members, scores, read('HMGET', ENTRIES, members), 0, 0, 0}
end

local refused = {}
if #ARGV >= ACKS then
  local mine, rows
  mine, rows, refused = presented(ACKS, '')
  finish(mine, rows)
end

local lapsed = bring_back(ms, 100)
local cutoff = ttl > 0 and ms - ttl or 0
local aged = ttl > 0 and age_out(cutoff, 100) or 0

-- Members and scores by turns, from the best band down, nothing that is too old.
local function in_order(room)
  local found = {}
  for band = 1, 3 do
    local left = room - #found / 2
    if left > 0 then
      local range = call('ZRANGEBYSCORE', READY, '(' .. exact(band * BAND + cutoff), '(' .. exact((band + 1) * BAND),
        'WITHSCORES', 'LIMIT', 0, left)
      if #found == 0 then
        found = range
      else
        for i = 1, #range do
          found[#found + 1] = range[i]
        end
      end
    end
  end
  return found
end

-- Those of the bands below the best that have waited too long, oldest first, at most `room`.
local function overdue(room)
  local best = call('ZRANGE', READY, 0, 0, 'WITHSCORES')[2]
  local found = {}
  for band = best and floor(tonumber(best) / BAND) + 1 or 4, 3 do
    local range = call('ZRANGEBYSCORE', READY, '(' .. exact(band * BAND + cutoff), exact(band * BAND + ms - max_wait),
      'WITHSCORES', 'LIMIT', 0, room)
    for i = 1, #range, 2 do
      found[#found + 1] = {range[i], range[i + 1], tonumber(range[i + 1]) % BAND}
    end
  end
  table.sort(found, function(a, b) return a[3] < b[3] end)
  local flat = {}
  for i = 1, min(#found, room) do
    flat[2 * i - 1], flat[2 * i] = found[i][1], found[i][2]
  end
  return flat
end

local members, scores, values, rows = {}, {}, {}, {}
local tail = ' ' .. claim

-- Takes candidates until one that was delivered before must wait for a claim of its own. Returns whether the claim is
-- complete, and how many were worn out or had no entry (which only a foreign hand can bring about).
local function take(candidates)
  local names = {}
  for i = 1, #candidates, 2 do
    names[#names + 1] = candidates[i]
  end
  local worn, worn_values, orphans, full = {}, {}, {}, false
  for i, value in ipairs(read('HMGET', ENTRIES, names)) do
    local member, score = names[i], candidates[2 * i]
    if not value then
      orphans[#orphans + 1] = member
    elseif not rows[member] then
      local count = sub(value, 1, 3)
      local deliveries = count == '000' and 0 or tonumber(count)
      if deliveries >= max_deliveries then
        worn[#worn + 1] = member
        worn_values[#worn_values + 1] = value
      elseif deliveries > 0 and #members > 0 then
        full = true
        break
      else
        local index = #members + 1
        members[index], scores[index], values[index] = member, score, value
        local next_count = deliveries == 0 and '001' or format('%03d', min(deliveries + 1, 999))
        rows[member] = next_count .. sub(value, 4, HEADER) .. score .. tail
        if deliveries > 0 or index == limit then
          full = true
          break
        end
      end
    end
  end
  write('ZREM', READY, orphans)
  send_out(worn, worn_values, 'max_deliveries')
  return full, #worn, #orphans
end

local worn_out, guarded = 0, 0
local full = limit <= 0
local credit = 0
if max_wait > 0 and not full then
  credit = tonumber(call('HGET', CLOCK, 'credit')) or 0
  local quota = min(floor(credit), limit)
  if quota > 0 then
    local worn
    full, worn = take(overdue(quota))
    guarded, worn_out = #members, worn
  end
end
local rounds = 0
while not full and rounds < 10 do -- again only when worn-out entries left their places empty
  local worn, orphans
  full, worn, orphans = take(in_order(limit))
  worn_out = worn_out + worn
  full = full or worn + orphans == 0
  rounds = rounds + 1
end

if #members > 0 then
  if guarded > 0 then -- inside the batch the order is the usual one
    local by_member = {}
    for i, member in ipairs(members) do
      by_member[i] = {member, scores[i], values[i], tonumber(scores[i])}
    end
    table.sort(by_member, function(a, b) return a[4] < b[4] end)
    for i, one in ipairs(by_member) do
      members[i], scores[i], values[i] = one[1], one[2], one[3]
    end
  end
  local deadlines, leased = {}, {}
  for i, member in ipairs(members) do
    deadlines[2 * i - 1], deadlines[2 * i] = deadline, member
    leased[2 * i - 1], leased[2 * i] = member, rows[member]
  end
  if call('ZRANK', READY, members[#members]) == #members - 1 then -- the usual case, and cheaper by far in a deep queue
    call('ZREMRANGEBYRANK', READY, 0, #members - 1)
  else
    write('ZREM', READY, members)
  end
  local new_set = #members > 16 and call('EXISTS', DEADLINES) == 0
  if new_set then -- one of few short members is a list searched from its start; a long member makes it a skip list
    call('ZADD', DEADLINES, deadline, LONG)
  end
  write('ZADD', DEADLINES, deadlines)
  if new_set then
    call('ZREM', DEADLINES, LONG)
  end
  write('HSET', LEASED, leased)
end
if max_wait > 0 and limit > 0 then
  call('HSET', CLOCK, 'credit', exact(min(credit - guarded + share * #members, 1 + share * limit)))
end
if #members > 0 or #ARGV >= ACKS then
  local turn = floor(ms / period)
  local key = CLAIMS[turn % 2 + 1]
  call('HSET', key, claim, cmsgpack.pack({refused, members}))
  if call('HLEN', key) == 1 then -- gone before its next turn begins
    call('PEXPIREAT', key, exact((turn + 2) * period - 1))
  end
end
if call('ZCARD', READY) > 0 then
  wake()
else
  call('DEL', WAKE)
end
return {refused, members, scores, values, lapsed, aged, worn_out}
