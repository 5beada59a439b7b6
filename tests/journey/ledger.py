"""What arrived in Kafka, held against what was published."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.model.message import Record, message_of
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst_load import LagWatch, Publishing


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. `published` and `arrived` are ids; `repeated` counts records beyond the first of an id;
    `past_the_buffer` says how often the publisher went straight to Kafka; dwell is from publish to Kafka, in seconds.
    """

    published: int
    arrived: int
    strangers: int
    repeated: int
    most_of_one: int
    hosts_out_of_order: int
    highest_lag: int
    lag_looks: int
    past_the_buffer: int
    kills: Mapping[str, int]
    publish_s: float
    drain_s: float
    dwell_p50_s: float
    dwell_p95_s: float
    dwell_longest_s: float


def everything(wiring: Wiring, topic: Topic) -> list[Record]:
    """All that a topic holds at this moment, in order inside each partition."""
    held = sum(wiring.lag.lag("nobody", [topic]).values())
    reader = KafkaIntakeReader(wiring.kafka, topic.value, "ledger")
    records: list[Record] = []
    try:
        while len(records) < held:
            records += reader.poll(2_000, 1_000)
    finally:
        reader.close()
    return records


def first_arrivals(records: Sequence[Record]) -> dict[str, list[str]]:
    """The root ids of each host in the order in which they came first."""
    seen: set[str] = set()
    by_host: dict[str, list[str]] = defaultdict(list)
    for record in records:
        root_id = message_of(record).headers.root_id
        if root_id not in seen:
            seen.add(root_id)
            by_host[(record.key or b"").decode()].append(root_id)
    return by_host


def figures_of(
    publishing: Publishing,
    records: Sequence[Record],
    watch: LagWatch,
    passing: Counter[str],
    kills: Counter[str],
    drain_s: float,
) -> Figures:
    wanted: dict[str, list[str]] = defaultdict(list)
    for host, root_id in publishing.published:
        wanted[host].append(root_id)
    came, ids = first_arrivals(records), {root_id for _, root_id in publishing.published}
    counts: Counter[str] = Counter()
    dwell: list[float] = []
    for record in records:
        headers = message_of(record).headers
        counts[headers.root_id] += 1
        if counts[headers.root_id] == 1:
            dwell.append((record.origin.timestamp_ms - headers.first_published_ms) / 1000)
    centiles = statistics.quantiles(dwell, n=100)
    return Figures(
        published=len(ids),
        arrived=len(ids & counts.keys()),
        strangers=len(counts.keys() - ids),
        repeated=counts.total() - len(counts),
        most_of_one=max(counts.values()),
        hosts_out_of_order=sum(came[host] != order for host, order in wanted.items()),
        highest_lag=watch.highest,
        lag_looks=watch.looks,
        past_the_buffer=passing["publish.fallback"],
        kills=kills,
        publish_s=publishing.seconds,
        drain_s=drain_s,
        dwell_p50_s=centiles[49],
        dwell_p95_s=centiles[94],
        dwell_longest_s=max(dwell),
    )
