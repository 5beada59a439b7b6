#!lua flags=allow-oom
-- The server's own time in ms, as a string. KEYS[1] only names the node of a cluster that is asked.
local time = redis.call('TIME')
return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
