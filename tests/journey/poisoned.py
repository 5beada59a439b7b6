"""A shift in a process of its own, whose handler does what the root id of its message says.

Run as `python -m tests.journey.poisoned STAGE MODE LEDGER`; MODE is `queue` or `direct`, settings come from the
environment. Each root id is noted in the ledger before and after its work.
"""

import functools
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from issuetracker_dagster import pipeline
from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.flow import work
from issuetracker_dagster.flow.shift import Mode, Shift
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, Payload
from issuetracker_dagster.model.queue import QueueLimits
from issuetracker_dagster.model.records import Content
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.pipeline import PIPELINE
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring import crews
from issuetracker_dagster.wiring.parts import Wiring

HANDLER_S = 0.02
STORING_S = 2.0
MEMORY = 400_000_000
MAX_DELIVERIES = 3
"""One more than the deaths that make a message suspect: the fewest with which it dies alone at last."""
HUNG_LEASES = 5
SESSION_VARIABLE = "POISONED_SESSION_MS"
"""How long the group waits for a worker that died, and how long the machine may hold one up."""


class Nameless(Exception):
    """Its text can't be had."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


class Past(BaseException):
    """Past every `except Exception`."""


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def eats() -> list[bytearray]:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    return [bytearray(100_000_000) for _ in range(1_000)]


def raises(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def recurses(depth: int = 0) -> int:
    return recurses(depth + 1) + 1


ODD: dict[str, Callable[[], object]] = {
    "hangs": lambda: threading.Event().wait(),
    "eats": eats,
    "sysexit": raises(SystemExit(1)),
    "interrupt": raises(KeyboardInterrupt()),
    "nameless": raises(Nameless()),
    "past": raises(Past("past")),
    "recurses": recurses,
    "none": lambda: None,
    "text": lambda: "text",
    "payload": lambda: Outcome(forward=ContentRef(content_id=1, url="https://news.example.com/\udcff")),
}
DEADLY: dict[str, Callable[[], object]] = {"killed": killed, "exits": lambda: os._exit(3)}


class Poisoned:
    """Does what the root id names, up to its first dash; anything else is a good message."""

    def __init__(self, note: Callable[[str], object], stores: Callable[[], SqlStores]) -> None:
        self._note = note
        self._stores = stores

    def handle(self, payload: Payload, context: HandlerContext) -> Outcome:
        name = context.root_id.partition("-")[0]
        self._note(f"began {context.root_id}")
        if name in ODD or name in DEADLY:
            returned = (ODD | DEADLY)[name]()
        else:
            time.sleep(STORING_S if name == "stores" else HANDLER_S)  # this is the work, not a wait
            if name == "stores":
                content = Content(
                    url=payload.url, root_id=context.root_id, host="news.example.com", title="t", body="b"
                )
                self._stores().contents.save(content)
            returned = Outcome(note="done")
        self._note(f"ended {context.root_id}")
        return returned  # type: ignore[return-value]

    def close(self) -> None:
        pass


def main(stage: Stage, mode: Mode, ledger: Path) -> None:
    # What a dead worker held comes back after these; a test needn't wait as long as an installation.
    pipeline.FETCH_LEASE_MS = 3_000
    vars(pipeline)["QueueLimits"] = functools.partial(QueueLimits, max_deliveries=MAX_DELIVERIES)  # what fetch goes by
    work.HUNG_LEASES, work.HUNG_AT_LEAST_S = HUNG_LEASES, 0.0
    session_ms = int(os.environ.get(SESSION_VARIABLE, "10000"))
    vars(crews)["KafkaGroupReader"] = functools.partial(KafkaGroupReader, session_timeout_ms=session_ms)
    wiring = Wiring(Settings(env_file=None))
    with ledger.open("a", buffering=1) as lines:
        handler = Poisoned(lambda line: lines.write(line + "\n"), lambda: wiring.stores)
        shift = Shift(
            stage,
            wanted_mode=lambda: mode,
            open_crew=lambda wanted: crews.open_crew(wiring, PIPELINE[stage], handler, wanted),
            clock=wiring.clock,
            duration_ms=86_400_000,  # the test closes the pipe
            drain_timeout_ms=2_000,
        )
        thread = threading.Thread(target=shift.run)
        thread.start()
        sys.stdin.read()  # until the test closes the pipe
        shift.stop("the test is over")
        thread.join(30)
        lines.write(f"counts {shift.counts()}\n")
        os._exit(0)  # a thread that hangs for ever isn't waited for


if __name__ == "__main__":
    main(Stage(sys.argv[1]), Mode(sys.argv[2]), Path(sys.argv[3]))
