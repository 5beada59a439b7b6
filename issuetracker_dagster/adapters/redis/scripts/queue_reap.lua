#!lua flags=allow-oom
-- Brings back expired leases and due delays, and lets go of what is too old. ARGV: limit, entry ttl ms (0: none).
-- Returns how many leases expired, delays fell due, entries aged out.
-- include queue_common
local limit, ttl = tonumber(ARGV[1]), tonumber(ARGV[2])
local ms = now()
local expired, due = bring_back(ms, limit)
local aged = ttl > 0 and age_out(ms - ttl, limit) or 0
if expired + due > 0 then
  wake()
end
return {expired, due, aged}
