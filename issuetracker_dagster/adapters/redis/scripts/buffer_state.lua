#!lua flags=no-writes
-- A buffer at a glance.
--
-- KEYS[1] publisher:buffer:normal  LIST entries in line, the oldest at its head
-- KEYS[2] {..}:outbox              LIST entries that fell out
-- KEYS[3] {..}:paused              what waits in the retry set; absent when nothing does
-- KEYS[4..] {..}:draining:<epoch>  LIST of each epoch that may have one, the oldest first
-- Returns {in line, draining, in the outbox, paused (0 or 1), first entry of the backlog or false}.
local draining, first = 0, false
for index = 4, #KEYS do
  draining = draining + redis.call('LLEN', KEYS[index])
  first = first or redis.call('LINDEX', KEYS[index], 0)
end
first = first or redis.call('LINDEX', KEYS[1], 0)
return {
  redis.call('LLEN', KEYS[1]), draining, redis.call('LLEN', KEYS[2]), redis.call('EXISTS', KEYS[3]), first,
}
