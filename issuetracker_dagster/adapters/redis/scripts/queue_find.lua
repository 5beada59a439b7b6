#!lua flags=no-writes
-- Where members are, nothing taken. ARGV: the members.
-- Returns for each: state ('' when it isn't held), score, due ms, value (of an outbox member its header only).
-- include queue_common
local reply = {}
for _, member in ipairs(ARGV) do
  local state, score, due, value = '', '', '', ''
  local row = call('HGET', LEASED, member)
  if row and #row == HEADER then
    state, value = 'outbox', row
  elseif row then
    score = row_parts(row)
    value = call('HGET', ENTRIES, member)
    local deadline = call('ZSCORE', DEADLINES, member)
    state = deadline and 'leased' or 'delayed'
    due = deadline or call('ZSCORE', DELAYED, member)
    if value and deadline then -- the present delivery is counted in the row only
      value = sub(row, 1, 3) .. sub(value, 4)
    end
  else
    score = call('ZSCORE', READY, member)
    value = score and call('HGET', ENTRIES, member)
    state = score and 'ready' or ''
  end
  reply[#reply + 1] = {state, score or '', due or '', value or ''}
end
return reply
