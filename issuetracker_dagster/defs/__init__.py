"""The Dagster layer: what operators see and toggle. Definitions are thin: what they do is in `flow` and `wiring`.

- `flags`       sensor toggles as feature flags; `toggle_states` for commands outside Dagster
- `ticks`       what every tick has in common
- `intakes`     sensors that fill the stage queues; their toggle is the queue's flag
- `workers`     sensors that keep the slots of shifts alive; `supervisor` does it
- `shifts`      the long-running ops; `fence` ends them before their time, `patience` waits for servers that are out
- `drain`       schedule and job of the buffer before Kafka; `buffers` judges it
- `rules`       the schedule, job and check that bring edited priority rules to the publishers
- `dlq`         the sensor that indexes dead letters, the job that redrives them; `dlq_checks` judge how many die
- `history`     schedule and job that purge; `run_history` runs with their files, `dagster_history` ticks and events
- `queue_moves` waiting entries are put into another band, by a form
- `reparse`     stored pages are read again, by a form or by day
- `digest`      the hourly report of the fastest issues
- `left_over`   ends the runs of a Dagster that is gone
- `upkeep`      sensors for due retries, due seeds and health; `health` is who the probe asks, `news` what of it is told
- `sources`     the check that every source was fetched lately
- `losses`      checks on what waits in Redis alone, by what the probe remembers
- `assets`      topics, queues and tables with their lineage; `asset_facts` what each shows beside it
- `checks`      judge the queues; `reach_checks` the servers, `lag_checks` topics, `frontier_checks` what waits for its
                host, `work_checks` workers and intakes, `retry_checks` the retries,
                `extraction_checks` what parsing yields, `render_checks` the browser. `results` is what all checks share
"""
