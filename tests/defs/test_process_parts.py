"""The wiring of one process: a server that is out holds up nobody else, and a shift's sign of life lasts."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.memory.heartbeats import MemoryHeartbeats
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.shift import Mode
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import RawContentRef
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.pipeline import PIPELINE
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring import connections, crews
from issuetracker_dagster.wiring.lifesigns import signs_of_life
from issuetracker_dagster.wiring.parts import Wiring
from tests.waiting import eventually


@pytest.fixture
def wiring(bare_environment: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int) -> Wiring:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{closed_port}/0")
    monkeypatch.setenv("WORKER_HEARTBEAT", "10ms")
    return Wiring(Settings(None))


def test_a_failed_try_to_reach_kafka_stands_for_a_while(wiring: Wiring, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []

    def out(*_: object, **__: object) -> None:
        tries.append(time.monotonic())
        raise Unavailable("Kafka is out")

    monkeypatch.setattr(connections, "ensure_topics", out)
    for _ in range(3):
        with pytest.raises(Unavailable, match="Kafka is out"):
            wiring.ready()
    assert len(tries) == 1
    monkeypatch.setattr(connections, "TOPICS_RETRY_S", 0.0)
    with pytest.raises(Unavailable):
        wiring.ready()
    assert len(tries) == 2


def test_topics_are_ensured_once(wiring: Wiring, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[object] = []
    monkeypatch.setattr(connections, "ensure_topics", lambda *args, **_: tries.append(args))
    wiring.ready()
    wiring.ready()
    assert len(tries) == 1


class Idle:
    """A handler that is never asked."""

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
        raise AssertionError(payload)

    def close(self) -> None: ...


def test_only_a_crew_that_cannot_know_its_queue_keeps_what_the_intake_noted(
    wiring: Wiring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the note nobody would fill the queue again, if it turns out to be lost."""
    monkeypatch.setattr(connections, "ensure_topics", lambda *_, **__: None)
    kept: list[bool] = []

    def noted(*args: Any, **options: Any) -> KafkaGroupReader:
        kept.append(options["keeps_notes"])
        return KafkaGroupReader(*args, **options)

    monkeypatch.setattr(crews, "KafkaGroupReader", noted)
    for mode in (Mode.WITHOUT_REDIS, Mode.DIRECT):
        crews.open_crew(wiring, PIPELINE[Stage.PARSER], Idle(), mode)
    assert kept == [True, False]


class BuggyHeartbeats(MemoryHeartbeats):
    """Fails in an unforeseen way the first time."""

    calls = 0

    def beat(self, stage: str, slot: int, run_id: str, info: dict[str, str]) -> None:
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("dictionary changed size during iteration")
        super().beat(stage, slot, run_id, info)


class BeatingWiring(Wiring):
    """The wiring of a shift whose signs of life stay in memory."""

    memory: MemoryHeartbeats

    @property
    def heartbeats(self) -> MemoryHeartbeats:  # type: ignore[override]
        return self.memory


@pytest.fixture
def beating(wiring: Wiring) -> BeatingWiring:
    made = BeatingWiring(wiring.settings)
    made.memory = MemoryHeartbeats(FakeClock())
    return made


def test_the_last_sign_of_life_outlives_the_shift(beating: BeatingWiring) -> None:
    with signs_of_life(beating, Stage.PARSER, 1, "run"):
        eventually(lambda: beating.memory.alive("parser"))
    (beat,) = beating.memory.alive("parser")
    assert (beat.slot, beat.run_id) == (1, "run")


def test_a_bug_in_a_heartbeat_does_not_silence_the_shift(beating: BeatingWiring) -> None:
    beating.memory = BuggyHeartbeats(FakeClock())
    with signs_of_life(beating, Stage.PARSER, 0, "run"):
        assert eventually(lambda: beating.memory.alive("parser"))


class LastWords:
    """Telemetry that hands over on its thread while it is closed, for which it needs other parts."""

    def __init__(self, wiring: Wiring) -> None:
        self._thread = threading.Thread(target=lambda: wiring.metric_store, daemon=True)

    def close(self) -> None:
        self._thread.start()
        self._thread.join(30)
        self.was_said = not self._thread.is_alive()


def test_telemetry_reaches_the_servers_while_the_process_closes(wiring: Wiring) -> None:
    last = LastWords(wiring)
    wiring._parts["telemetry"] = last
    wiring.close()
    assert last.was_said
