"""What the health probe takes of a core at the default settings, with much to look at.

A pipeline at rest whose database got 50,000 pages a day, with crawl jobs that nobody reads on three topics, so that it
has to read the oldest of each. Its toggle is off; the code server is asked for tick after tick, as the UI's "Test
sensor" does, and the processor time of that, over what the server takes meanwhile anyway, is a tick's own. Beside it
there are the look at what parsing yields, at its own interval; the events, if every one were told as often as may be;
and the daemon's part, for which a tick of the probe is like any other.
"""

import json
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import dagster as dg

from benchmarks.figures import Figure, Result, Say
from benchmarks.parsed_load import fill
from benchmarks.pipeline import QUEUES_ON, Pipeline, running
from benchmarks.processor import CODE_SERVER, DAEMON, seconds_by_role, since
from issuetracker_dagster.defs.extraction_checks import MOST_PAGES, look_at_extraction
from issuetracker_dagster.defs.health import EXTRACTION_EVERY_MS, HealthProbe
from issuetracker_dagster.defs.news import EVERY_MS
from issuetracker_dagster.local.pipeline import dagster_home
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import CrawlJob, encode_payload
from issuetracker_dagster.model.stage import CRAWL_TOPICS, QUEUED_STAGES
from tests.journey.dagster_ui import LOCATION, DagsterUi

TARGET = 1.0
PAGES, SPREAD_MS, UNREAD = 50_000, 86_400_000, 1_000
SETTLE_S, LOOK_S, TICKS, EXTRACTIONS = 15.0, 30.0, 40, 5
TICK_EVERY_S = 25.0
"""The least that Dagster lets pass between two: its grid makes it 30 s."""
SETTINGS = {**QUEUES_ON, "PUBLISHER_REDIS_BUFFER_ENABLED": "true", "STAGES_FETCH_ENABLED": "false"}
PROBE = "health_probe"


def measure(say: Say) -> Result:
    """The parts of its cost, and their sum."""
    say("starting the pipeline")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), SETTINGS) as pipeline:
        pipeline.shifts(*QUEUED_STAGES)
        say(f"{PAGES:,} pages into the database, {UNREAD:,} jobs into each crawl topic")
        fill(pipeline.wiring.endpoints.database, PAGES, pipeline.wiring.machine_clock.now_ms(), SPREAD_MS)
        _leave_unread(pipeline)
        pipeline.ui.switch(PROBE, on=False)
        time.sleep(SETTLE_S)
        say(f"{LOOK_S:.0f} s without it")
        at_rest, daemon_s = _without(pipeline)
        say(f"{TICKS} ticks")
        tick_s, took_s = _a_tick(pipeline, at_rest)
        say(f"{tick_s * 1000:.0f} ms each; now what parsing yields, and events")
        yields_s, (events, event_s) = _an_extraction(pipeline), _an_event(pipeline)
    share = {
        "its ticks in the code server": tick_s / TICK_EVERY_S,
        "its look at what parsing yields": yields_s / (EXTRACTION_EVERY_MS / 1000),
        "its events, each told every five minutes": events * event_s / (EVERY_MS / 1000),
        "its ticks in the daemon": daemon_s / TICK_EVERY_S,
    }
    return Result(
        figures=(
            _of_a_core("the health probe, all of it", sum(share.values()), TARGET),
            *(_of_a_core(name, part) for name, part in share.items()),
            Figure(name="a tick of the probe, there and back", value=took_s * 1000, unit="ms", at_most=True),
        ),
        notes=(
            f"processor: {tick_s * 1000:.0f} ms a tick, {daemon_s * 1000:.0f} ms in the daemon, "
            f"{yields_s * 1000:.0f} ms a look at {2 * MOST_PAGES:,} parsed pages, "
            f"{event_s * 1000:.1f} ms each of {events} events",
        ),
    )


def _of_a_core(name: str, share: float, target: float | None = None) -> Figure:
    return Figure(name=name, value=100 * share, unit="% of a core", target=target, at_most=True)


def _leave_unread(pipeline: Pipeline) -> None:
    payload = encode_payload(CrawlJob(url="https://news.example.com/"))
    for topic in CRAWL_TOPICS.values():
        ids = (f"bench-{topic.value}-{number}" for number in range(UNREAD))
        jobs = [Outgoing.of(topic, Message(Headers(root_id=each), each.encode(), payload)) for each in ids]
        pipeline.wiring.producer.publish(jobs)


def _without(pipeline: Pipeline) -> tuple[float, float]:
    """Processor seconds that the code server takes a second, and the daemon a tick of any sensor."""
    before, ticks, began = seconds_by_role(pipeline), _ticks(pipeline), time.monotonic()
    time.sleep(LOOK_S)
    used, passed_s = since(before, seconds_by_role(pipeline)), time.monotonic() - began
    return used[CODE_SERVER] / passed_s, used[DAEMON] / (_ticks(pipeline) - ticks)


def _ticks(pipeline: Pipeline) -> int:
    file = dagster_home(pipeline.home) / "schedules" / "schedules.db"
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30)) as connection:
        return int(connection.execute("SELECT max(id) FROM job_ticks").fetchone()[0])


def _a_tick(pipeline: Pipeline, at_rest: float) -> tuple[float, float]:
    """Processor seconds of one tick in the code server, and how long it took."""
    cursor = _dry_run(pipeline.ui, "")  # connects, and looks at what parsing yields
    before, began = seconds_by_role(pipeline), time.monotonic()
    for _ in range(TICKS):
        cursor = _dry_run(pipeline.ui, cursor)
    used, passed_s = since(before, seconds_by_role(pipeline)), time.monotonic() - began
    return (used[CODE_SERVER] - at_rest * passed_s) / TICKS, passed_s / TICKS


def _dry_run(ui: DagsterUi, cursor: str) -> str:
    query = """mutation ($one: SensorSelector!, $cursor: String) { sensorDryRun(selectorData: $one, cursor: $cursor) {
        __typename ... on DryRunInstigationTick { evaluationResult { cursor skipReason error { message } } } } }"""
    asked = ui.ask(query, one={**LOCATION, "sensorName": PROBE}, cursor=cursor)["sensorDryRun"]
    found: Mapping[str, str] = asked["evaluationResult"]
    assert json.loads(found["cursor"]), found
    return found["cursor"]


def _an_extraction(pipeline: Pipeline) -> float:
    """Processor seconds of this process a look."""
    look_at_extraction(pipeline.wiring, {})
    began = time.process_time()
    for _ in range(EXTRACTIONS):
        look_at_extraction(pipeline.wiring, {})
    return (time.process_time() - began) / EXTRACTIONS


def _an_event(pipeline: Pipeline) -> tuple[int, float]:
    """How many events a tick has at the most, and the processor seconds of this process that storing one takes."""
    with dg.DagsterInstance.from_config(str(dagster_home(pipeline.home))) as instance:
        context = dg.build_sensor_context(instance=instance, sensor_name=PROBE)
        events = HealthProbe().tick(pipeline.wiring, context).asset_events
        began = time.process_time()
        for event in events:
            instance.report_runless_asset_event(event)
        return len(events), (time.process_time() - began) / len(events)
