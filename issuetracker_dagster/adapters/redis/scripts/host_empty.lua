#!lua
-- Note a page that came out without a body, and tell one caller when there are enough of them to act.
--
-- KEYS[1] host:{<host>}:empty  HASH `page:<root id>` -> "<ms> <page>", and `upgrading` -> root id of who was told
-- ARGV[1] root id  ARGV[2] page  ARGV[3] 1 when the host is switched already
-- ARGV[4] pages that are enough  ARGV[5] most pages kept  ARGV[6] ms for which a page counts
-- Returns the pages, oldest first, to who was told, as often as it asks; nothing to all others.
--
-- The key expires one window after the last page that counted, and after nothing else: a worker that was told and never
-- came back keeps its host from being switched for that long at most.
local key, mine, switched = KEYS[1], 'page:' .. ARGV[1], ARGV[3] == '1'
local enough, most, window = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local told = redis.call('HGET', key, 'upgrading')
if switched and not told then
  return {}
end

local function kept_pages()
  local found, all = {}, redis.call('HGETALL', key)
  for at = 1, #all, 2 do
    if string.sub(all[at], 1, 5) == 'page:' then
      local ms, page = string.match(all[at + 1], '^(%d+) (.*)$')
      if told or tonumber(ms) > now - window then
        found[#found + 1] = { ms = tonumber(ms), page = page, field = all[at] }
      else
        redis.call('HDEL', key, all[at])
      end
    end
  end
  table.sort(found, function(one, other)
    if one.ms ~= other.ms then
      return one.ms < other.ms
    end
    return one.field < other.field
  end)
  return found
end

local kept = kept_pages()
if redis.call('HEXISTS', key, mine) == 0 and #kept < most then
  redis.call('HSET', key, mine, string.format('%.0f ', now) .. ARGV[2])
  kept[#kept + 1] = { ms = now, page = ARGV[2] }
  if not told then
    redis.call('PEXPIRE', key, ARGV[6])
  end
end
if not told and #kept >= enough then
  redis.call('HSET', key, 'upgrading', ARGV[1])
  told = ARGV[1]
end
if told ~= ARGV[1] then
  return {}
end
local pages = {}
for at, one in ipairs(kept) do
  pages[at] = one.page
end
return pages
