#!lua flags=allow-oom
-- Forget a batch that is in Kafka or kept elsewhere.
--
-- KEYS[1] {..}:drains  HASH epoch -> word of its batch  KEYS[2] {..}:draining:<epoch>  LIST (see buffer_take.lua)
-- ARGV[1] epoch  ARGV[2] word of the batch, empty for whichever it is
-- Returns how many entries that were.
--
-- The word keeps a call that a slow server executes late, after its repetition and the next take, off the next batch.
local word = redis.call('HGET', KEYS[1], ARGV[1])
if not word or (ARGV[2] ~= '' and ARGV[2] ~= word) then
  return 0
end
local count = redis.call('LLEN', KEYS[2])
redis.call('UNLINK', KEYS[2])
redis.call('HDEL', KEYS[1], ARGV[1])
return count
