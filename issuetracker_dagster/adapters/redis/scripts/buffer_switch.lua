#!lua flags=allow-oom
-- Turn the switch of buffering, also on a server that is full.
--
-- KEYS[1] publisher:buffer:on  ARGV[1] how long it stays on, in ms; empty turns it off
if ARGV[1] == '' then
  return redis.call('DEL', KEYS[1])
end
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return 1
