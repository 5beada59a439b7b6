#!lua flags=no-writes
-- Ready entries in their order, nothing taken. ARGV: least and greatest score as ZRANGEBYSCORE takes them, limit.
-- Returns members, scores, values.
-- include queue_common
local found = call('ZRANGEBYSCORE', READY, ARGV[1], ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[3])
local members, scores = {}, {}
for i = 1, #found, 2 do
  members[#members + 1] = found[i]
  scores[#scores + 1] = found[i + 1]
end
return {members, scores, read('HMGET', ENTRIES, members)}
