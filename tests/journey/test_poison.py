"""Finding 44 with real processes: poison of every sort, on a queue and straight from Kafka, with Redis and without."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.reap import reap
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.queue import queue_entry
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay
from tests.flow.world import crawl_message, dlq_notes
from tests.journey.poisoned import HUNG_LEASES, MAX_DELIVERIES, ODD, SESSION_VARIABLE
from tests.journey.stage_work import send
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(450)]

ROOT = Path(__file__).resolve().parents[2]
STAGE = Stage.VALIDATE
GOOD = 60
SUSPECTED_AFTER = 2
ATTEMPTS = 2
DYING = {SESSION_VARIABLE: "3000"}
"""For workers of a group that die: the next one needn't wait as long for the partitions."""


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {
        "VALIDATE_ZSET_LEASE": "1s",
        "VALIDATE_ZSET_MAX_DELIVERIES": str(MAX_DELIVERIES),
        "VALIDATE_WORKER_COUNT": "6",
        "RETRY_BASE": "100ms",
        "RETRY_MAX_ATTEMPTS": str(ATTEMPTS),
    }


class Ledger:
    """What the workers of a test noted."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ids(self, what: str) -> list[str]:
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [line.split()[1] for line in lines if line.startswith(what + " ")]

    def count(self, what: str) -> int:
        """How many different messages."""
        return len(set(self.ids(what)))

    def cut_short(self) -> Counter[str]:
        """How often each message was begun and not ended: the deaths it was part of."""
        return Counter(self.ids("began")) - Counter(self.ids("ended"))


class Worker:
    """A process that is started again whenever it dies."""

    def __init__(self, environment: dict[str, str], stage: Stage, mode: str, ledger: Ledger) -> None:
        self._words = [sys.executable, "-m", "tests.journey.poisoned", stage.value, mode, str(ledger.path)]
        self._environment = {**os.environ, **environment}
        self.deaths = 0
        self._process = self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def look(self) -> None:
        if self._process.poll() is not None:
            self.deaths += 1
            self._process = self._start()

    def end(self) -> None:
        try:
            self._process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._words, cwd=ROOT, env=self._environment, stdin=subprocess.PIPE)


@contextmanager
def working(environment: dict[str, str], stage: Stage, mode: str, ledger: Ledger) -> Iterator[Worker]:
    worker = Worker(environment, stage, mode, ledger)
    try:
        yield worker
    finally:
        worker.end()


class Dead:
    """Everything that has come into the DLQ so far."""

    def __init__(self, wiring: Wiring) -> None:
        self._reader = KafkaGroupReader(wiring.kafka, [Topic.DLQ.value], "test-dlq")
        self.records: list[Record] = []

    def reasons(self) -> dict[str, str]:
        self.records += self._reader.poll(100, 50)
        return {dict(one.headers)["root_id"].decode(): dlq_notes(one)["reason"] for one in self.records}

    def close(self) -> None:
        self._reader.close()


@pytest.fixture
def dead(wiring: Wiring) -> Iterator[Dead]:
    made = Dead(wiring)
    yield made
    made.close()


def good(count: int = GOOD) -> list[Headers]:
    return [Headers(root_id=f"good-{number}") for number in range(count)]


def filled(wiring: Wiring, count: int) -> None:
    while wiring.queue(STAGE).depth().ready < count:
        wiring.intake(STAGE).tick(500)


@pytest.mark.parametrize("deadly", ["killed", "exits"])
def test_44_a_message_that_kills_its_process_ends_in_the_dlq_and_no_neighbour_with_it(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path, dead: Dead, deadly: str
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    send(wiring, STAGE, *good(20), Headers(root_id=deadly), *good()[20:])
    filled(wiring, GOOD + 1)
    with working(journey_environment, STAGE, "queue", ledger) as worker:

        def is_over() -> bool:
            worker.look()
            reap(wiring.queue(STAGE))
            relay(wiring, 200)
            return wiring.queue(STAGE).depth().total == 0 and bool(dead.reasons())

        eventually(is_over, timeout_s=90)
    only_the_poison_is_dead(ledger, dead, deadly)


@pytest.mark.alone
def test_44_several_such_messages_in_one_batch_are_told_apart_and_no_neighbour_is_blamed(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path, dead: Dead
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    deadly = [f"killed-{number}" for number in range(4)]
    send(wiring, STAGE, *good(20), *[Headers(root_id=name) for name in deadly], *good()[20:])
    filled(wiring, GOOD + len(deadly))
    with working(journey_environment, STAGE, "queue", ledger) as worker:

        def is_over() -> bool:
            worker.look()
            reap(wiring.queue(STAGE))
            relay(wiring, 200)
            return wiring.queue(STAGE).depth().total == 0 and len(dead.reasons()) == len(deadly)

        # Some twenty workers start and die in it, one after the other: a minute on a machine of their own.
        eventually(is_over, timeout_s=200)
    only_the_poison_is_dead(ledger, dead, *deadly)


@pytest.mark.parametrize("redis", ["with-redis", "without-redis"])
def test_44_in_direct_mode_as_well(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path, dead: Dead, redis: str
) -> None:
    environment = (
        journey_environment | DYING | ({"REDIS_URL": "redis://127.0.0.1:1"} if redis == "without-redis" else {})
    )
    ledger = Ledger(tmp_path / "ledger")
    send(wiring, STAGE, *good(20), Headers(root_id="killed"), *good()[20:])
    with working(environment, STAGE, "direct", ledger) as worker:

        def is_over() -> bool:
            worker.look()
            return len(set(ledger.ids("ended"))) == GOOD and bool(dead.reasons())

        eventually(is_over, timeout_s=150)
    only_the_poison_is_dead(ledger, dead, "killed")


def test_44_a_crawl_job_too_whether_it_waited_for_its_host_or_not(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path, dead: Dead
) -> None:
    environment = (
        journey_environment | DYING | {f"FETCHER_{pool}_WORKER_COUNT": "4" for pool in ("HIGH", "NORMAL", "LOW")}
    )
    ledger = Ledger(tmp_path / "ledger")
    ids = [f"good-{number}" for number in range(30)]
    sent = [crawl_message(f"https://host{one}.example.com/", one) for one in [*ids[:15], "killed", *ids[15:]]]
    wiring.producer.publish([Outgoing.of(Topic.CRAWL_NORMAL, one) for one in sent])
    for number in range(20):
        name = "exits" if number == 10 else f"waited-{number}"
        host = f"host-{name}.example.com"
        wiring.frontier.defer(host, queue_entry(crawl_message(f"https://{host}/", name)), 0)
    with working(environment, Stage.FETCH, "direct", ledger) as worker:

        def is_over() -> bool:
            worker.look()
            return len(set(ledger.ids("ended"))) == 49 and len(dead.reasons()) == 2

        eventually(is_over, timeout_s=240)
    assert dead.reasons() == {"killed": "max_deliveries", "exits": "max_deliveries"}
    cut_short = ledger.cut_short()
    assert cut_short.pop("killed") + cut_short.pop("exits") == 2 * MAX_DELIVERIES
    assert all(deaths <= SUSPECTED_AFTER for deaths in cut_short.values()), cut_short


def only_the_poison_is_dead(ledger: Ledger, dead: Dead, *poison: str) -> None:
    assert dead.reasons() == dict.fromkeys(poison, "max_deliveries")
    assert set(ledger.ids("ended")) == {one.root_id for one in good()}
    cut_short = ledger.cut_short()
    begun = {name: cut_short.pop(name) for name in poison}
    # One of several may have lost leases to the others before it was ever begun.
    least = MAX_DELIVERIES if len(poison) == 1 else MAX_DELIVERIES - SUSPECTED_AFTER
    assert all(least <= starts <= MAX_DELIVERIES for starts in begun.values()), begun
    # Who was begun beside it when nobody could know yet; none of them was there when it died again.
    assert all(deaths <= SUSPECTED_AFTER for deaths in cut_short.values()), cut_short


@pytest.mark.parametrize("mode", ["queue", "direct"])
def test_44_whatever_else_a_handler_does_ends_in_the_dlq_after_its_attempts_and_the_process_lives(
    wiring: Wiring, journey_environment: dict[str, str], tmp_path: Path, dead: Dead, mode: str
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    odd = [Headers(root_id=name) for name in ODD]
    send(wiring, STAGE, *good(30), *odd, *good()[30:])
    if mode == "queue":
        filled(wiring, GOOD + len(odd))
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.1):
            with suppress(TransientError):  # a sensor skips its tick
                relay(wiring, 200)
                if mode == "queue":
                    wiring.intake(STAGE).tick(200)

    ticking = threading.Thread(target=tick)
    with working(journey_environment, STAGE, mode, ledger) as worker:
        ticking.start()

        def is_over() -> bool:
            worker.look()
            return len(dead.reasons()) == len(odd) and len(set(ledger.ids("ended")) - set(ODD)) == GOOD

        try:
            eventually(is_over, timeout_s=120)
        finally:
            stop.set()
            ticking.join(30)
    assert dead.reasons() == dict.fromkeys(ODD, "attempts_exhausted")
    assert worker.deaths == 0
    assert Counter(ledger.ids("began")) == Counter(dict.fromkeys(ODD, ATTEMPTS) | {one.root_id: 1 for one in good()})
    errors = {dict(one.headers)["root_id"].decode(): dlq_notes(one)["error"] for one in dead.records}
    assert f"no answer within {HUNG_LEASES} s" in errors["hangs"]
    assert "MemoryError" in errors["eats"]
    assert "its text can't be had" in errors["nameless"]
    assert wiring.retry_set.size() == 0
