#!lua flags=allow-oom
-- Add to several counters at once.
--
-- KEYS[1] metrics:counters  HASH name -> count
-- ARGV name, amount, name, amount, ...
for index = 1, #ARGV, 2 do
  redis.call('HINCRBY', KEYS[1], ARGV[index], ARGV[index + 1])
end
return 1
