"""What happens to messages, one verb a module, written against the ports: no Dagster, Redis, Kafka, SQL or wall clock.

- `publish`      dedupe, blacklist, priority, topic; `rules` matches hosts and paths, `resolve` is the chain
- `schedule`     due seeds become crawl jobs
- `buffer`       normal and low jobs wait in Redis; `drain` moves them to Kafka, by `drain_band`, `drain_batch`,
                 `drain_refused`; `throttle` keeps seeds due, `lag` bounds the question both ask
- `intake`       Kafka to a stage queue
- `sources`      where a shift takes its work from: a stage queue, or
- `direct`       Kafka itself, or
- `frontier`     the fetch topics and what waited for its host; `fair_pool` leaves slots to other hosts
- `shelf`        between the thread that reads and the threads that work
- `handle`       one message through its stage
- `work`         a crew of slots that claims, handles and settles; `shift` runs crews until its time is over
- `supplied`     a crew with what supplies it
- `settle`       executes the decision about a handled message
- `flood`        a stage that gives up nearly everything pauses; `flood_gate` puts that between a crew and its source
- `retry`        the retry set back to Kafka; `reap` expired leases and the outbox
- `dead_letter`  the form of a dead letter; `malformed` buries what doesn't decode,
                 `dlq_index` notes those that lie there, `redrive` sends them round again
- `steps`        what happens to messages, told by `watched` and `watched_queue`; `meter` adds it up, `trace_log` writes
                 `trace_lines`, `telemetry` hands both over; `gauges` names the figures of the moment
- `reparse`      stored pages go round again without a fetch
- `purge`        what grows old goes, sweep by sweep; `sweeps` those of the database
- `digest`       the fastest issues as Markdown; `digest_page` as a page
- `supervise`    which worker runs to fail and which slots to fill
"""
