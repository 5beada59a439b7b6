-- The history of writes that this server goes on with: its id and how long it is in bytes; the id of the one before, which
-- is not empty on a replica that took over (and after a restart from a snapshot), and up to where that was followed.
local function history()
  local told = redis.call('INFO', 'replication')
  local before = string.match(told, 'master_replid2:(%w+)')
  if not before or not string.find(before, '[^0]') then
    before = ''
  end
  return {
    string.match(told, 'master_replid:(%w+)') or '',
    tonumber(string.match(told, 'master_repl_offset:(%d+)')) or 0,
    before,
    tonumber(string.match(told, 'second_repl_offset:(%d+)')) or 0,
  }
end
