"""What the health probe still looks at while a server is out or hangs."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.defs.health import HANGS_AFTER_S, REDIS, SQL, HealthProbe, Look
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring


class OutageProbe(HealthProbe):
    """Looks at a Redis that lets two looks fail, each after so many seconds, and at a database that is well."""

    def __init__(self, clock: FakeClock, fails_after_s: float) -> None:
        super().__init__()
        self._clock = clock
        self._fails_after_s = fails_after_s
        self.asked = 0

    def _looks(self, wiring: Wiring, context: dg.SensorEvaluationContext) -> Iterator[tuple[str, Look]]:
        yield from ((REDIS, self._out), (REDIS, self._out), (SQL, lambda: ((), "the database is well")))

    def _out(self) -> tuple[tuple[()], str]:
        self.asked += 1
        self._clock.advance(self._fails_after_s * 1000)
        raise Unavailable("Redis doesn't answer")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def wiring(bare_environment: Path, closed_port: int, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Wiring:
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{closed_port}/0")
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    made = Wiring(Settings(None))
    monkeypatch.setattr(made, "machine_clock", clock)
    return made


def told(probe: HealthProbe, wiring: Wiring, instance: dg.DagsterInstance) -> str:
    with dg.build_sensor_context(instance=instance, sensor_name="health_probe", cursor="seen") as context:
        result = probe.tick(wiring, context)
    assert result.cursor == "seen"  # what was known of Redis isn't forgotten while it can't be asked
    return str(result.skip_reason)


def test_a_server_that_hangs_is_asked_once_a_tick_and_the_others_all_the_same(
    wiring: Wiring, clock: FakeClock, instance: dg.DagsterInstance
) -> None:
    probe = OutageProbe(clock, HANGS_AFTER_S + 0.1)
    said = told(probe, wiring, instance)
    assert (probe.asked, said.count("Redis doesn't answer")) == (1, 1)
    assert "the database is well" in said
    assert "REDIS_URL" not in said  # nor was it asked for what was lost
    told(probe, wiring, instance)
    assert probe.asked == 2


def test_a_server_that_refuses_at_once_is_asked_for_everything_and_told_once(
    wiring: Wiring, clock: FakeClock, instance: dg.DagsterInstance
) -> None:
    probe = OutageProbe(clock, HANGS_AFTER_S)
    said = told(probe, wiring, instance)
    assert (probe.asked, said.count("Redis doesn't answer")) == (2, 1)
    assert "REDIS_URL" in said
