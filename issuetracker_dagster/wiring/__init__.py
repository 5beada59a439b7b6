"""Puts settings, adapters, flow and stages together. Nothing is opened before it is used, nothing at import.

- `endpoints`  where Kafka, Redis and SQL are: settings, else what `issuetracker up` left running
- `parts`      `Wiring`: the parts of one process
- `buffering`  the buffer before Kafka: who fills it, who drains it, how it stands
- `handlers`   the handler of each stage
- `crews`      the crew of a stage in a mode, with everything that it opens and closes
- `lifesigns`  the heartbeats of a shift
- `snapshots`  rules as publishers see them, read anew now and then
- `upkeep`     the relay tick: due retries, leases of the dead, outboxes
- `logs`       what a log line looks like
"""
