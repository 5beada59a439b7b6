"""Real runs of a shift job on real servers: it works, ends in order when asked to, and obeys its fence."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Origin
from issuetracker_dagster.model.payload import RawContentRef, encode_payload
from issuetracker_dagster.model.queue import QueueDepth, queue_entry
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.faults.proxy import FaultProxy
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

DRAIN_S = 5
SENTENCE = "The council voted on Monday to rebuild the bridge that the flood had carried away last spring. "
CONFIG = {"ops": {"parser_shift_op": {"config": {"slot": 0}}}}


class ParserWork:
    """The servers of one test, with pages that wait in the parser's queue."""

    def __init__(self, home: Path) -> None:
        self.dagster_home = home / "dagster"
        self.dagster_home.mkdir(parents=True)
        (self.dagster_home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
        self.wiring = Wiring(Settings(None))
        upgrade(self.wiring.endpoints.database)
        self.wiring.ready()

    def add_pages(self, count: int) -> None:
        queue = self.wiring.queue(Stage.PARSER)
        queue.open()
        queue.push([queue_entry(self._page(number)) for number in range(count)])

    def _page(self, number: int) -> Message:
        url = f"https://news.example.com/world/{number}"
        body = f"<html><body><article><h1>Story {number}</h1><p>{SENTENCE * 8}</p></article></body></html>".encode()
        raw = RawContent(url=url, requested_url=url, status=200, content_type="text/html", body=body, fetched_ms=1)
        raw_id = self.wiring.stores.raw_contents.save(raw)
        ref = RawContentRef(raw_id=raw_id, url=url, requested_url=url, target_type=TargetType.ARTICLE, fetched_ms=1)
        headers = Headers(root_id=f"root-{number}", target_type=TargetType.ARTICLE)
        return Message(headers, b"", encode_payload(ref), Origin("fetched", 0, number, 1_000))

    @property
    def depth(self) -> QueueDepth:
        return self.wiring.queue(Stage.PARSER).depth()

    @property
    def passed_on(self) -> int:
        return self.wiring.lags()[Topic.NORMALIZED]

    def beats(self, mode: str) -> bool:
        return any(beat.info.get("mode") == mode for beat in self.wiring.heartbeats.alive("parser"))


@pytest.fixture
def work(
    bare_environment: Path, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> Iterator[ParserWork]:
    for name, value in {
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "KAFKA_TOPIC_PREFIX": f"{uuid.uuid4().hex}.",
        "REDIS_URL": clean_valkey_url,
        "PARSER_PRIORITY_QUEUE_ENABLED": "true",
        "SHIFT_DURATION": "10m",
        "SHIFT_DRAIN_TIMEOUT": f"{DRAIN_S}s",
        "WORKER_HEARTBEAT": "500ms",
    }.items():
        monkeypatch.setenv(name, value)
    made = ParserWork(bare_environment)
    yield made
    made.wiring.close()


class RunningShift:
    """A `parser_shift` in a process of its own, at work."""

    def __init__(self, work: ParserWork) -> None:
        self._work = work
        environment = {**os.environ, "DAGSTER_HOME": str(work.dagster_home)}
        config = work.dagster_home / "config.json"
        config.write_text(json.dumps(CONFIG))
        command = [sys.executable, "-m", "dagster", "job", "execute", "-m", "issuetracker_dagster.definitions"]
        self._log = (work.dagster_home / "shift.log").open("w")
        self.process = subprocess.Popen(
            [*command, "-j", "parser_shift", "-c", str(config)],
            env=environment,
            cwd=Path(__file__).resolve().parents[2],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.instance = dg.DagsterInstance.from_config(str(work.dagster_home))

    def wait_until_at_work(self) -> dg.DagsterRun:
        eventually(lambda: self._work.beats("queue") and self._work.passed_on > 0, timeout_s=60, interval_s=0.1)
        (run,) = self.instance.get_runs()
        return run

    def ends_within(self, seconds: float) -> DagsterRunStatus:
        self.process.wait(timeout=seconds)
        (run,) = self.instance.get_runs()
        return run.status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=10)
        self._log.close()
        self.instance.dispose()


@pytest.fixture
def running(work: ParserWork) -> Iterator[RunningShift]:
    work.add_pages(400)
    shift = RunningShift(work)
    yield shift
    shift.close()


def assert_nothing_is_held_or_lost(work: ParserWork) -> None:
    depth = work.depth
    assert depth.leased == 0
    assert depth.ready > 0, "the shift finished everything before it was told to end: add more pages"
    assert depth.total + work.passed_on == 400


def test_a_shift_that_begins_while_kafka_is_out_waits_for_it(work: ParserWork, monkeypatch: pytest.MonkeyPatch) -> None:
    work.add_pages(3)
    port = int(work.wiring.endpoints.kafka.rpartition(":")[2])
    with FaultProxy(port, advertised=True) as proxy, ExitStack() as stack:
        monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{proxy.port}")
        with proxy.down():
            shift = RunningShift(work)
            stack.callback(shift.close)
            eventually(lambda: proxy.connections > 10 or shift.process.poll() is not None, timeout_s=120)
            assert work.beats("starting")
        shift.wait_until_at_work()
        shift.process.send_signal(signal.SIGINT)
        assert shift.ends_within(60) is DagsterRunStatus.SUCCESS


def test_a_shift_works_its_queue_off_and_ends_when_its_time_is_over(
    work: ParserWork, stored_instance: dg.DagsterInstance, load_definitions: Any
) -> None:
    work.add_pages(5)
    job = load_definitions(SHIFT_DURATION="10s").resolve_job_def("parser_shift")
    result = job.execute_in_process(instance=stored_instance, run_config=CONFIG)
    assert result.success
    assert work.depth.total == 0
    assert work.passed_on == 5
    (step,) = [event for event in result.all_events if event.is_successful_output]
    told = {name: value.value for name, value in step.step_output_data.metadata.items()}
    assert told["reason"] == "its time is over"
    assert told["modes"] == "queue"
    (beat,) = work.wiring.heartbeats.alive("parser")
    assert beat.run_id == result.run_id


def test_terminated_and_interrupted_twice_a_shift_drains_and_ends_as_canceled(
    work: ParserWork, running: RunningShift
) -> None:
    running.instance.report_run_canceling(running.wait_until_at_work())
    running.process.send_signal(signal.SIGINT)
    running.process.send_signal(signal.SIGINT)
    assert running.ends_within(DRAIN_S + 8) is DagsterRunStatus.CANCELED
    assert_nothing_is_held_or_lost(work)


def test_ctrl_c_in_its_terminal_twice_lets_a_shift_drain_and_end_in_order(
    work: ParserWork, running: RunningShift
) -> None:
    running.wait_until_at_work()
    for _ in range(2):
        # A terminal interrupts its whole group, the extraction processes included.
        os.killpg(running.process.pid, signal.SIGINT)
    assert running.ends_within(DRAIN_S + 8) is DagsterRunStatus.SUCCESS
    assert_nothing_is_held_or_lost(work)


def test_a_shift_whose_run_was_failed_behind_its_back_ends_soon_and_stays_failed(
    work: ParserWork, running: RunningShift
) -> None:
    run = running.wait_until_at_work()
    running.instance.report_run_failed(run, "heartbeat lost")
    told_at = time.monotonic()
    eventually(lambda: work.depth.leased == 0 and work.depth.ready, timeout_s=6)
    assert running.ends_within(10) is DagsterRunStatus.FAILURE
    assert time.monotonic() - told_at < 10
    assert_nothing_is_held_or_lost(work)
