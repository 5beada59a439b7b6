"""The Dagster layer: what operators see and toggle. Definitions are thin: what they do is in `flow` and `wiring`.

- `resources`   the parts of this process, built once
- `flags`       sensor toggles as feature flags
- `ticks`       what every tick has in common
- `intakes`     sensors that fill the stage queues; their toggle is the queue's flag
- `workers`     sensors that keep the slots of shifts alive, and the shift jobs
- `shifts`      the long-running ops
- `upkeep`      sensors for due retries, due seeds and health
- `assets`      topics, queues and tables with their lineage; `checks` judge the queues
"""
