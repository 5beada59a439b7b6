"""The Dagster layer: what operators see and toggle. Definitions are thin: what they do is in `flow` and `wiring`.

- `flags`       sensor toggles as feature flags
- `ticks`       what every tick has in common
- `intakes`     sensors that fill the stage queues; their toggle is the queue's flag
- `workers`     sensors that keep the slots of shifts alive; `supervisor` does it
- `shifts`      the long-running ops; `fence` ends them before their time
- `drain`       schedule and job of the buffer before Kafka; `buffers` judges it
- `rules`       the schedule, job and check that bring edited priority rules to the publishers
- `dlq`         the sensor that indexes dead letters, the job that redrives them; `dlq_checks` judge how many die
- `upkeep`      sensors for due retries, due seeds and health; `health` is what the probe tells
- `assets`      topics, queues and tables with their lineage; `checks` judge the queues
"""
