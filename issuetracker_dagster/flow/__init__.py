"""What happens to messages, one verb a module, written against the ports: no Dagster, Redis, Kafka, SQL or wall clock.

- `publish`      dedupe, blacklist, priority, topic; `rules` matches hosts and paths, `resolve` is the chain
- `schedule`     due seeds become crawl jobs
- `buffer`       normal and low jobs wait in Redis; `drain` moves them to Kafka, by `drain_band`, `drain_batch`,
                 `drain_refused`; `throttle` keeps seeds due, `lag` bounds the question both ask
- `intake`       Kafka to a stage queue
- `sources`      where a shift takes its work from: a stage queue, or
- `direct`       Kafka itself, or
- `frontier`     the fetch topics and what waited for its host
- `shelf`        between the thread that reads and the threads that work
- `handle`       one message through its stage
- `work`         a crew of slots that claims, handles and settles; `shift` runs crews until its time is over
- `settle`       executes the decision about a handled message
- `flood`        a stage that gives up nearly everything pauses; `flood_gate` puts that between a crew and its source
- `retry`        the retry set back to Kafka; `reap` expired leases and the outbox
- `dead_letter`  the form of a dead letter; `dlq_index` notes those that lie there, `redrive` sends them round again
- `supervise`    which worker runs to fail and which slots to fill
"""
