"""Puts settings, adapters, flow and stages together. Nothing is opened before it is used, nothing at import.

- `endpoints`  where Kafka, Redis and SQL are: settings, else what `issuetracker up` left running
- `parts`      `Wiring`: the parts of one process, on its `connections`
- `buffering`  the buffer before Kafka: who fills it, who drains it, how it stands
- `handlers`   the handler of each stage
- `crews`      the crew of a stage in a mode, with everything that it opens and closes
- `lifesigns`  the heartbeats of a shift; `workers` reads them
- `snapshots`  rules as publishers see them, read anew now and then
- `upkeep`     the relay tick: due retries, leases of the dead, outboxes
- `steering`   what operators do with a stage queue; `whereabouts` and `roots` find a message
- `lookout`    the pipeline at a glance, again and again: `figures` of each server, put together in `overview`
- `checkup`    the rules of `issuetracker doctor`
- `history`    what of the database is purged; `reparse` the parts of one; `digest` where its page is kept
- `trial`      one page through all stages without keeping anything, with `trial_fetch`, `trial_rules`, `trial_views`
- `losses`     what waits in Redis alone, for the checks on its loss
- `logs`       what a log line looks like; `ending` how a process of the code location ends
"""
