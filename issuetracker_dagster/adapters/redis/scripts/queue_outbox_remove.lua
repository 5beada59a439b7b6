#!lua flags=allow-oom
-- Removes published outbox elements. ARGV: the elements. Returns how many were still there.
-- include queue_common
local members, minutes = {}, {}
for _, element in ipairs(ARGV) do
  -- Whoever empties the outbox reads it from its head. What another was faster to remove is sought there only: LREM would
  -- search the whole list in vain, a hundred times a call.
  if call('LPOS', OUTBOX, element, 'MAXLEN', SLICE) and call('LREM', OUTBOX, 1, element) == 1 then
    local _, stop, length = string.find(element, '^%l[%l_]* (%d+) ')
    local member = sub(element, stop + 1, stop + length)
    local minute = sub(element, stop + length + 4, stop + length + HEADER)
    members[#members + 1] = member
    minutes[minute] = (minutes[minute] or 0) + 1
  end
end
write('HDEL', LEASED, members)
settled(minutes)
return #members
