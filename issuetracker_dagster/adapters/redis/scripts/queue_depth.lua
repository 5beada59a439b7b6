#!lua flags=no-writes
-- Counts and ages. Returns ready and oldest age (ms) of each band, then leased, delayed, outbox, epoch.
-- include queue_common
local ms = now()
local reply = {}
for band = 1, 3 do
  local first, past = exact(band * BAND), '(' .. exact((band + 1) * BAND)
  local oldest = call('ZRANGEBYSCORE', READY, first, past, 'WITHSCORES', 'LIMIT', 0, 1)[2]
  reply[#reply + 1] = call('ZCOUNT', READY, first, past)
  reply[#reply + 1] = oldest and math.max(0, ms - floor(tonumber(oldest) % BAND)) or 0
end
reply[#reply + 1] = call('ZCARD', DEADLINES)
reply[#reply + 1] = call('ZCARD', DELAYED)
reply[#reply + 1] = call('LLEN', OUTBOX)
reply[#reply + 1] = call('GET', EPOCH)
return reply
