"""Publish to enriched at a fifth of what the pipeline manages, with all three queues on, and where the time goes.

Real pages are served on loopback and published at a steady pace, each priority in turn. What counts is the time from a
job's publish until its content was passed on to the topic `enriched`, by the pipeline's own trace; only jobs of high
priority are judged.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import recorded
from benchmarks.figures import Figure, Result, Say, centile
from benchmarks.pipeline import QUEUES_ON, Pipeline, running
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports, is_listening
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.traces import TraceLine
from tests.waiting import eventually

SECONDS, LOAD, PAGES_A_SECOND = 90.0, 0.2, 15.0
"""The pace is a fifth of the pages a second that `pages` recorded, or of this many where it never did."""
TARGET_S = 15.0
SETTINGS = {**QUEUES_ON, "FETCH_ALLOW_PRIVATE_ADDRESSES": "true", "STAGES_SCHEDULER_ENABLED": "false"}
WITHIN_S, MOST_LINES = 120.0, 50
STEPS = (
    ("fetch", "message.forwarded", "published to fetched"),
    ("parser", "intake.stored", "fetched to the parser's queue"),
    ("parser", "message.forwarded", "in it and parsed"),
    ("validate", "intake.stored", "parsed to validate's queue"),
    ("validate", "message.forwarded", "in it and validated"),
    ("enrich", "intake.stored", "validated to enrich's queue"),
    ("enrich", "message.forwarded", "in it and enriched"),
)
"""The steps of a journey as its trace names them, and what lies between each and the one before."""


def measure(say: Say) -> Result:
    """Latencies by priority, and the parts of those of high priority."""
    say("starting the pipeline")
    with tempfile.TemporaryDirectory() as folder, _site() as port, running(Path(folder), SETTINGS) as pipeline:
        pipeline.wiring.stores.parser_rules.save_fetcher_rule(
            FetcherRule(host_pattern=LOOPBACK, requests_per_hour=0, burst=1_000, concurrency=8)
        )
        pipeline.shifts(*Stage)
        published = _published(pipeline, port, say)
        journeys = _journeys(pipeline, published)
    high = [journey for journey in journeys[Priority.HIGH] if len(journey) == len(STEPS) + 1]
    waits = [journey[-1] - journey[0] for journey in high]
    total = sum(map(len, journeys.values()))
    figures = [
        Figure(
            name="high: publish to enriched, p95", value=centile(waits, 95), unit="s", target=TARGET_S, at_most=True
        ),
        Figure(name="high: publish to enriched, median", value=statistics.median(waits), unit="s", at_most=True),
        Figure(name="high: publish to enriched, longest", value=max(waits), unit="s", at_most=True),
    ]
    return Result(figures=tuple(figures), notes=(f"{total} pages, {len(high)} of them high", *_parts(high)))


@contextmanager
def _site() -> Iterator[int]:
    (port,) = choose_ports(1, ())
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.recorded_site", str(port)])
    try:
        eventually(lambda: is_listening(port), timeout_s=20)
        yield port
    finally:
        process.kill()
        process.wait()


def _published(pipeline: Pipeline, port: int, say: Say) -> Mapping[Priority, Sequence[str]]:
    """Publish at the pace and wait until all has come to its end; root ids by priority."""
    pace = LOAD * _pages_a_second()
    say(f"publishing {pace:.1f} pages a second for {SECONDS:.0f} s")
    published: dict[Priority, list[str]] = defaultdict(list)
    began = time.monotonic()
    for number in range(int(SECONDS * pace)):
        time.sleep(max(0.0, began + number / pace - time.monotonic()))
        priority = Priority(number % 3 + 1)
        job = CrawlJob(url=f"http://{LOOPBACK}:{port}/story/{number}", source="bench")
        report = pipeline.wiring.publisher.publish([Request(job=job, parent="bench", priority=priority)])
        published[priority] += [message.headers.root_id for message in report.published]
    eventually(pipeline.is_done, timeout_s=WITHIN_S, interval_s=1.0)
    return published


def _pages_a_second() -> float:
    record = recorded.read().get("pages")
    speed = record.figures.get("whole pipeline on this machine") if record else None
    return speed.median if speed else PAGES_A_SECOND


def _journeys(pipeline: Pipeline, published: Mapping[Priority, Sequence[str]]) -> dict[Priority, list[list[float]]]:
    """When each came how far, in seconds; once the shifts have written down all that they know."""
    trace = pipeline.wiring.stores.message_trace
    last = published[Priority.LOW][-1]
    eventually(lambda: _moments(trace.of(last, MOST_LINES))[1:], timeout_s=30, interval_s=1.0)
    return {
        priority: [_moments(trace.of(root_id, MOST_LINES)) for root_id in root_ids]
        for priority, root_ids in published.items()
    }


def _moments(lines: Sequence[TraceLine]) -> list[float]:
    """The publish, then each step as far as it came; of a step that happened again the first time."""
    first: dict[tuple[str, str], float] = {}
    for line in lines:
        first.setdefault((line.stage, line.action), line.at_ms / 1000)
    wanted = [("", "message.published"), *((stage, action) for stage, action, _ in STEPS)]
    return [first[step] for step in wanted if step in first]


def _parts(journeys: Sequence[Sequence[float]]) -> Iterator[str]:
    """The median and the p95 of each part of a journey."""
    for place, (_, _, part) in enumerate(STEPS):
        seconds = [journey[place + 1] - journey[place] for journey in journeys]
        yield f"{part}: median {statistics.median(seconds):.2f} s, p95 {centile(seconds, 95):.2f} s"
