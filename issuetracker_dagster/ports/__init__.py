"""Protocols between the core and the world. Each has an adapter on the real thing, a fake in `adapters.memory`, and one
contract suite in `tests/contracts` that both must pass.

- `clock`    time
- `queue`    `StageQueue`: the leased priority queue of a stage (and of a host in the frontier); `QueueSteering`
- `handler`  what a stage is to the flow
- `topics`   Kafka: producer, intake reader, group reader, lag
- `retries`  the set of messages that wait for their due time
- `locks`    locks with fencing epochs, URL locks, heartbeats
- `hosts`    politeness: permits, breaker, the frontier of jobs whose host isn't due
- `http`     one bounded GET; `rendering` a page as a browser shows it
- `stores`   SQL, one protocol for each thing that a stage or a flow keeps
- `reports`  its read side; `traces` what was published lately and what became of messages
- `history`  a sweep; `stored_articles`, `digests` what a reparse and a digest read
- `metrics`  counters and histograms that all processes share
"""
