#!lua flags=no-writes
-- Returns how many leases end within ARGV[1] ms, how many are over, and for how long (ms) the oldest of these.
-- include queue_common
local ms = now()
local over = call('ZCOUNT', DEADLINES, '-inf', ms)
local first = call('ZRANGE', DEADLINES, 0, 0, 'WITHSCORES')[2]
local near = call('ZCOUNT', DEADLINES, '-inf', ms + tonumber(ARGV[1])) - over
return {near, over, over > 0 and ms - tonumber(first) or 0}
