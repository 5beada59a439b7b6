#!lua flags=allow-oom
-- Makes sure that the queue has an epoch and a format. ARGV: a random epoch, the format. Returns both as they stand.
-- include queue_common
call('SET', EPOCH, ARGV[1], 'NX')
call('SET', FORMAT, ARGV[2], 'NX')
return {call('GET', EPOCH), call('GET', FORMAT)}
