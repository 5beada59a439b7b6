"""Every benchmark by name, in the order in which they run."""

import msgspec


class Bench(msgspec.Struct, frozen=True):
    """A module of this package with a function `measure`; `minutes` is about what one run of it takes on two cores."""

    about: str
    minutes: float
    by_default: bool = True


BENCHES: dict[str, Bench] = {
    "queue": Bench("the stage queue in Redis: push, claim with acknowledgement", 0.5),
    "memory": Bench("what a queued message takes in Redis", 0.1),
    "priority_wait": Bench("a high message's wait behind a million low ones, every slot busy", 1.5),
    "buffer": Bench("the buffer before Kafka: push, confirmed on disk, and take with done", 0.2),
    "publish": Bench("publishing, and draining the buffer into Kafka", 1.0),
    "intake": Bench("Kafka to the stage queue, validation included", 0.7),
    "resolve": Bench("resolving a priority against 10,000 rules", 0.5),
    "pages": Bench("the whole pipeline under Dagster: pages a CPU-second", 4.0),
    "idle": Bench("a shift's start, and what everything costs when there is nothing to do", 2.0),
    "latency": Bench("publish to enriched at a fifth of the load, and where the time goes", 2.5),
    "probe": Bench("what the health probe takes of a core", 3.0),
    "growth": Bench("the cost of one operation with more queued, more rules, hosts and contents", 4.0),
    "clusters": Bench("issues of a stream of known events: B-cubed, two workers, cost", 6.0, by_default=False),
    "burst": Bench("200,000 jobs against a slow crawler while everything is killed", 8.0, by_default=False),
    "storage": Bench("what Dagster's own storage grows by, and comes to in days", 45.0, by_default=False),
}
