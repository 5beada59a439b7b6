#!lua flags=allow-oom
-- Whose data this is. KEYS: a mark that lives and dies with the data. ARGV: a random mark, for data that has none.
-- Returns the mark, and the history as in `history_common`.
-- include history_common
redis.call('SET', KEYS[1], ARGV[1], 'NX')
local id, length, before, followed = unpack(history())
return {redis.call('GET', KEYS[1]), id, length, before, followed}
