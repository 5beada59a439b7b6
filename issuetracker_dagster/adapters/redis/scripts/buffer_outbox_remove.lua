#!lua flags=allow-oom
-- Remove entries that are in the DLQ.
--
-- KEYS[1] {..}:outbox  LIST entries that fell out  ARGV the entries
-- Returns how many were still there.
local removed = 0
for _, entry in ipairs(ARGV) do
  -- Whoever empties the outbox reads it from its head; what another was faster to remove isn't sought in all of it.
  if redis.call('LPOS', KEYS[1], entry, 'MAXLEN', 1000) then
    removed = removed + redis.call('LREM', KEYS[1], 1, entry)
  end
end
return removed
