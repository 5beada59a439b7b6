"""How long a story takes from its publish to the enriched topic, in a pipeline that runs.

Run as `python -m benchmarks.publish_to_enriched [SECONDS]` beside `issuetracker demo` (or a pipeline of your own): it
reads what reaches the enriched topic meanwhile and prints the time since each message was first published, by priority.
"""

import argparse
import statistics
import sys
import time
from collections import defaultdict

from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=int, default=120, help="how long to look, 120 s unless told")
    options = parser.parse_args()
    began_ms = time.time_ns() // 1_000_000
    records = read_for(options.seconds)
    taken: dict[Priority, list[float]] = defaultdict(list)
    for record in records:
        headers = headers_from_raw(record.headers)
        # Messages of before, and those that waited for a pipeline that was down, say nothing about this one.
        if headers.first_published_ms >= began_ms and not headers.recrawl_count:
            taken[headers.priority].append((record.origin.timestamp_ms - headers.first_published_ms) / 1000)
    for priority, seconds in sorted(taken.items()):
        print(f"{priority.label:<7} {described(seconds)}")
    everything = [one for seconds in taken.values() for one in seconds]
    print(f"all     {described(everything)}" if everything else "nothing was published and enriched meanwhile")
    return 0 if everything else 1


def read_for(seconds: int) -> list[Record]:
    """What the enriched topic holds at the end of that time."""
    reader = KafkaIntakeReader(Wiring(Settings()).kafka, Topic.ENRICHED.value, "issuetracker-bench")
    deadline = time.monotonic() + seconds
    records: list[Record] = []
    while time.monotonic() < deadline:
        records += reader.poll(1_000, timeout_ms=1_000)
    reader.close()
    return records


def described(seconds: list[float]) -> str:
    """Count and centiles of some durations."""
    if len(seconds) < 2:
        return f"{len(seconds)} contents"
    centiles = statistics.quantiles(seconds, n=100)
    return f"{len(seconds)} contents: p50 {centiles[49]:.1f} s, p95 {centiles[94]:.1f} s, longest {max(seconds):.1f} s"


if __name__ == "__main__":
    sys.exit(main())
