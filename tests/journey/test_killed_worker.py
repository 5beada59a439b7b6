"""kill -9 of a shift: what it held comes back, in place, and little is done twice."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from issuetracker_dagster.flow.reap import reap
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import send
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
STAGE = Stage.VALIDATE
COUNT = 400
SLOTS = 8


def test_a_killed_worker_loses_nothing_and_repeats_at_most_what_was_in_its_hands(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path
) -> None:
    environment = {**os.environ, **journey_environment, "VALIDATE_ZSET_LEASE": "2s"}
    ledger = tmp_path / "ledger"
    send(wiring, STAGE, *[Headers(root_id=f"m{number:03}") for number in range(COUNT)])
    while wiring.queue(STAGE).depth().ready < COUNT:
        wiring.intake(STAGE).tick(500)
    killed = _worker(environment, ledger)
    eventually(lambda: len(_root_ids(ledger, "ended")) > 100, timeout_s=60)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait(10)
    in_hand = set(_root_ids(ledger, "began")) - set(_root_ids(ledger, "ended"))
    done_before = len(_root_ids(ledger, "began"))
    eventually(lambda: reap(wiring.queue(STAGE)), timeout_s=10)  # the relay does this in a running system
    successor = _worker(environment, ledger)
    try:
        eventually(lambda: len(set(_root_ids(ledger, "ended"))) == COUNT, timeout_s=60)
        eventually(lambda: wiring.queue(STAGE).depth().total == 0, timeout_s=30)
    finally:
        successor.communicate(timeout=30)
    began = _root_ids(ledger, "began")
    repeated = [root_id for root_id, times in Counter(began).items() if times > 1]
    # A slot holds what it works on and what it has finished but not yet acknowledged with its next claim.
    assert len(repeated) <= 2 * SLOTS
    assert set(repeated) >= in_hand
    # In place: what came back was older than all that waited, so the successor began with it. Its slots note what they
    # begin each by itself, so one that came back may be noted behind the first of the others.
    assert set(repeated) <= set(began[done_before : done_before + len(repeated) + SLOTS])


def _worker(environment: dict[str, str], ledger: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.journey.worker", STAGE.value, str(ledger)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
    )


def _root_ids(ledger: Path, what: str) -> list[str]:
    if not ledger.exists():
        return []
    lines = (line.split() for line in ledger.read_text().splitlines())
    return [words[1] for words in lines if len(words) == 2 and words[0] == what]
