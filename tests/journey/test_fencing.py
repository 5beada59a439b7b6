"""A worker that was stopped past its lease and goes on: what it says then counts for nothing, and is told."""

import os
import re
import signal
from pathlib import Path

import pytest

from issuetracker_dagster.flow.reap import reap
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import send
from tests.journey.test_poison import STAGE, Dead, Ledger, Worker, dead, filled
from tests.waiting import eventually, stays

__all__ = ["dead"]

pytestmark = [pytest.mark.services, pytest.mark.slow]

GOOD = 20


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {"VALIDATE_ZSET_LEASE": "1s", "VALIDATE_WORKER_COUNT": "2"}


@pytest.mark.parametrize("mode", ["queue", "direct"])
def test_31_a_worker_stopped_past_its_lease_is_fenced_and_the_content_is_once_in_sql(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path, dead: Dead, mode: str
) -> None:
    stopped, other = Ledger(tmp_path / "stopped"), Ledger(tmp_path / "other")
    send(wiring, STAGE, Headers(root_id="stores-1"), *[Headers(root_id=f"good-{number}") for number in range(GOOD)])
    if mode == "queue":
        filled(wiring, GOOD + 1)
    first = Worker(journey_environment, STAGE, mode, stopped)
    try:
        eventually(lambda: "stores-1" in stopped.ids("began"), timeout_s=60)
        os.kill(first.pid, signal.SIGSTOP)
        second = Worker(journey_environment, STAGE, mode, other)
        try:

            def is_done_by_the_other() -> bool:
                reap(wiring.queue(STAGE))
                return "stores-1" in other.ids("ended")

            eventually(is_done_by_the_other, timeout_s=60)
            if mode == "queue":
                eventually(lambda: wiring.queue(STAGE).depth().total == 0, timeout_s=30)
            os.kill(first.pid, signal.SIGCONT)
            eventually(lambda: "stores-1" in stopped.ids("ended"), timeout_s=30)
            assert stays(lambda: wiring.queue(STAGE).depth().total == 0 and not dead.reasons(), for_s=2)
        finally:
            second.end()
    finally:
        os.kill(first.pid, signal.SIGCONT)
        first.end()
    assert {*stopped.ids("ended"), *other.ids("ended")} == {"stores-1", *(f"good-{n}" for n in range(GOOD))}
    assert wiring.stores.reports.counts()["contents"] == 1
    if mode == "queue":
        counts = stopped.path.read_text().splitlines()[-1]
        assert re.search(r"'acks_refused': [12]\b", counts), counts  # whatever its two slots had in hand
