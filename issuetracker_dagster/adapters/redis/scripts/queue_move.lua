#!lua flags=allow-oom
-- Puts waiting entries into another band at their own arrival. ARGV: the band, then member and new envelope of each.
-- A moved envelope differs in its priority only and has the old one's length, so a full Redis takes it.
-- Returns how many moved, were in that band already, are leased, are gone.
-- include queue_common
local to = tonumber(ARGV[1])
local members, envelopes = {}, {}
for at = 2, #ARGV, 2 do
  members[#members + 1] = ARGV[at]
  envelopes[#envelopes + 1] = ARGV[at + 1]
end
local ready, rows, values = read('ZMSCORE', READY, members), read('HMGET', LEASED, members), read('HMGET', ENTRIES, members)
local scored, marked, stored, seen = {}, {}, {}, {}
local same, leased, gone = 0, 0, 0
for i, member in ipairs(members) do
  local row, score, claim = rows[i], ready[i], nil
  if row and #row > HEADER then
    score, claim = row_parts(row)
  end
  if not values[i] or not score then
    gone = gone + 1
  elseif claim and sub(claim, 1, 1) ~= '~' then
    leased = leased + 1
  elseif seen[member] or floor(tonumber(score) / BAND) == to then
    same = same + 1
  else
    seen[member] = true
    local place = exact(to * BAND + tonumber(score) % BAND)
    if claim then
      marked[#marked + 1] = member
      marked[#marked + 1] = sub(row, 1, HEADER) .. place .. ' ' .. claim
    else
      scored[#scored + 1] = place
      scored[#scored + 1] = member
    end
    stored[#stored + 1] = member
    stored[#stored + 1] = sub(values[i], 1, HEADER) .. envelopes[i]
  end
end
write('ZADD', READY, scored)
write('HSET', LEASED, marked)
write('HSET', ENTRIES, stored)
return {#stored / 2, same, leased, gone}
