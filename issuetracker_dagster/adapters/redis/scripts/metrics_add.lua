#!lua flags=allow-oom
-- Add one batch of a writer, unless it is the one that was added last. Returns 1 when it was added.
--
-- KEYS[1]   metrics:{all}:writer:<writer>  STRING  sequence of the latest batch
-- KEYS[2..] metrics:{all}:<name>           HASH    labels and part -> amount
-- ARGV[1] sequence, [2] how long it is remembered (ms), [3] most fields of an open metric, [4] how long that lasts (ms),
-- then for each further key: '1' when it has an open label, the count of its amounts, and as often
-- field, the field that counts instead, amount
if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[1]) then
  return 0
end
local most, lasts_ms = tonumber(ARGV[3]), ARGV[4]
local place = 5
for index = 2, #KEYS do
  local key, is_open, count = KEYS[index], ARGV[place] == '1', tonumber(ARGV[place + 1])
  local is_new = is_open and redis.call('EXISTS', key) == 0
  place = place + 2
  for _ = 1, count do
    local field = ARGV[place]
    if is_open and redis.call('HEXISTS', key, field) == 0 and redis.call('HLEN', key) >= most then
      field = ARGV[place + 1]
    end
    redis.call('HINCRBY', key, field, ARGV[place + 2])
    place = place + 3
  end
  if is_new then
    redis.call('PEXPIRE', key, lasts_ms)
  end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
