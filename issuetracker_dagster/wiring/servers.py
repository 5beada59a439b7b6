"""Whether the servers answer: one cheap question to each, side by side, none of them waited for longer than seconds.

The questions are those that work begins with, so a server that answers them can be used and isn't only there.
"""

import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from issuetracker_dagster.adapters.redis.looks import try_write
from issuetracker_dagster.errors import Full, TransientError
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.wiring.parts import Wiring

KAFKA, REDIS, SQL = "kafka", "redis", "sql"
ANSWERS_WITHIN_S = 10.0
"""Kafka's client gives a refusal three seconds, and a connection that hangs up to ten."""


class ServerFacts(msgspec.Struct, frozen=True):
    """What people call the server, which setting says where it is, and what is asked of it."""

    name: str
    variable: str
    ask: Callable[[Wiring], object]


class Problem(msgspec.Struct, frozen=True):
    """Why a server can't be used as work needs it.

    One that `is_full` answers all the same: what it holds can be looked at and worked off, and workers show signs of
    life there. A replica that only reads takes no signs of life, so it is as good as out.
    """

    why: str
    is_full: bool = False


SERVERS = {
    # Without a coordinator of groups a broker is of no use here.
    KAFKA: ServerFacts("Kafka", "KAFKA_BOOTSTRAP_SERVERS", lambda wiring: wiring.lag.lag(FACTS[Stage.FETCH].group, ())),
    # One that is full, or became a replica, still answers questions.
    REDIS: ServerFacts("Redis", "REDIS_URL", lambda wiring: try_write(wiring.redis)),
    # A database without our tables fails here, too.
    SQL: ServerFacts("the database", "DATABASE_URL", lambda wiring: wiring.stores.rule_snapshots.latest_version()),
}


class _Question:
    """One server being asked, on a thread that nobody has to wait for."""

    def __init__(self, wiring: Wiring, server: str) -> None:
        self._wiring = wiring
        self._facts = SERVERS[server]
        silent = f"{self._facts.name} doesn't answer within {ANSWERS_WITHIN_S:.0f} s ({self._facts.variable})"
        self._problem: Problem | None = Problem(silent)
        self._bug: Exception | None = None
        self.thread = threading.Thread(target=self._run, name=f"ask-{server}", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._facts.ask(self._wiring)
            self._problem = None
        except TransientError as error:
            self._problem = Problem(str(error), is_full=isinstance(error, Full))
        except Exception as error:  # noqa: BLE001 - raised again where the answer is looked for
            self._bug = error

    def problem(self) -> Problem | None:
        """What is known by now; None when the server did what was asked of it."""
        if self._bug is not None:
            raise self._bug
        return self._problem


class ServerCheck:
    """Asks the servers. One that still hasn't answered the last time isn't asked once more."""

    def __init__(self) -> None:
        self._asked: dict[str, _Question] = {}

    def problems(self, wiring: Wiring) -> Mapping[str, Problem]:
        """Servers that can't be used, or not for all of it, and why; within `ANSWERS_WITHIN_S`. Raises `ConfigError` as
        the clients do."""
        for server in SERVERS:
            if server not in self._asked or not self._asked[server].thread.is_alive():
                self._asked[server] = _Question(wiring, server)
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        for question in self._asked.values():
            question.thread.join(max(0.0, deadline - time.monotonic()))
        found = {server: question.problem() for server, question in self._asked.items()}
        return {server: problem for server, problem in found.items() if problem}
