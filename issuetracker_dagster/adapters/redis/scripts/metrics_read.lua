#!lua flags=no-writes
-- Every amount. Returns for each key its fields and amounts, one after the other.
--
-- KEYS metrics:{all}:<name>  HASH labels and part -> amount
local found = {}
for index, key in ipairs(KEYS) do
  found[index] = redis.call('HGETALL', key)
end
return found
