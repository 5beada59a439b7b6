"""The whole pipeline, fetched to enriched, against a bare loop that calls the same handlers in one process.

2,000 real pages are put where fetch puts them and published to the topic `fetched`; three stages work from their queues
under Dagster. Counted is the processor time of shifts, daemon and code server from the publish until nothing is left,
once the shifts are at work; broker, Redis and webserver are left out. The limit is `bare_pages`, of which there run as
many at once as the machine has cores: it shares caches and clock rate with as much other work as a shift does.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.bare_pages import STAGES, Bare
from benchmarks.figures import Figure, Result, Say
from benchmarks.pipeline import QUEUES_ON, Pipeline, running
from benchmarks.processor import CODE_SERVER, DAEMON, SHIFTS, seconds_by_role, since
from benchmarks.recorded_pages import recorded_pages, stored
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import RawContentRef, encode_payload
from issuetracker_dagster.model.stage import QUEUED_STAGES, Topic
from tests.waiting import eventually

PAGES, WARM_UP = 2_000, 40
TARGET = 0.80
COUNTED = (SHIFTS, DAEMON, CODE_SERVER)
SETTINGS = {**QUEUES_ON, "STAGES_FETCH_ENABLED": "false", "STAGES_SCHEDULER_ENABLED": "false"}
WITHIN_S = 900.0


def measure(say: Say) -> Result:
    """Pages a CPU-second of both, and where the difference goes."""
    cores = os.cpu_count() or 1
    say(f"{cores} bare loops over {PAGES:,} real pages each")
    bare = _bare(cores)
    limit = statistics.median(one.pages / one.cpu_s for one in bare)
    say("starting the pipeline")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), SETTINGS) as pipeline:
        pipeline.shifts(*QUEUED_STAGES)
        used, took_s = _piped(pipeline, say)
        ended = pipeline.wiring.stores.reports.counts()
    cpu_s = sum(used.get(role, 0.0) for role in COUNTED)
    figure = Figure(
        name="whole pipeline, of a bare loop",
        value=PAGES / cpu_s,
        unit="pages/CPU-s",
        limit=limit,
        ratio=PAGES / cpu_s / limit,
        target=TARGET,
    )
    speed = Figure(name="whole pipeline on this machine", value=PAGES / took_s, unit="pages/s")
    return Result(figures=(figure, speed), notes=(_bare_parts(bare), _piped_parts(used), f"stored: {dict(ended)}"))


def _bare(loops: int) -> list[Bare]:
    """What so many bare loops at once found, each with a database of its own."""
    with tempfile.TemporaryDirectory() as made:
        folders = [Path(made) / str(number) for number in range(loops)]
        started = [_started(folder) for folder in folders]
        return [msgspec.json.decode(process.communicate()[0], type=Bare) for process in started]


def _started(folder: Path) -> "subprocess.Popen[bytes]":
    folder.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bare_pages", str(folder), str(PAGES)], stdout=subprocess.PIPE
    )


def _piped(pipeline: Pipeline, say: Say) -> tuple[dict[str, float], float]:
    """Processor seconds by role, and seconds, from the publish of the pages until nothing of them is left."""
    refs = stored(recorded_pages(PAGES + WARM_UP), pipeline.wiring.stores.raw_contents)
    _publish(pipeline, refs[:WARM_UP])
    eventually(pipeline.is_done, timeout_s=WITHIN_S, interval_s=1.0)
    before, began = seconds_by_role(pipeline), time.monotonic()
    _publish(pipeline, refs[WARM_UP:])
    told = [time.monotonic()]

    def is_done() -> bool:
        if time.monotonic() - told[0] > 10:
            told[0] = time.monotonic()
            say(f"{pipeline.left():,} messages are left of {PAGES:,} pages")
        return pipeline.is_done()

    eventually(is_done, timeout_s=WITHIN_S, interval_s=0.5)
    return since(before, seconds_by_role(pipeline)), time.monotonic() - began


def _publish(pipeline: Pipeline, refs: Sequence[RawContentRef]) -> None:
    now_ms = pipeline.wiring.clock.now_ms()
    pipeline.wiring.producer.publish(
        [
            Outgoing.of(Topic.FETCHED, Message(headers, headers.root_id.encode(), encode_payload(ref)))
            for ref in refs
            for headers in [Headers(root_id=f"bench{ref.raw_id:019d}", first_published_ms=now_ms)]
        ]
    )


def _bare_parts(bare: Sequence[Bare]) -> str:
    parts = (
        f"{stage} {1000 * statistics.median(one.by_stage[stage] / one.pages for one in bare):.1f}" for stage in STAGES
    )
    return f"bare loop: {', '.join(parts)} CPU-ms a page; pages ended at {bare[0].ended}"


def _piped_parts(used: dict[str, float]) -> str:
    parts = (f"{role} {1000 * seconds / PAGES:.1f}" for role, seconds in sorted(used.items()))
    return f"pipeline: {', '.join(parts)} CPU-ms a page"
