"""Looks at the whole pipeline again and again, for `issuetracker top`: a server that hangs costs its own figures only.

Each server is asked on a thread of its own, once at a time. What it said stays for some seconds; then it counts as out.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.model.overview import Overview, ServerName, ServerView
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.wiring.figures import (
    KafkaFigures,
    RedisFigures,
    SqlFigures,
    kafka_figures,
    redis_figures,
    sql_figures,
)
from issuetracker_dagster.wiring.overview import Rates, put_together
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)

T = TypeVar("T")

LATE_S = 5.0
"""How much longer than the time between two looks an answer may take before its server counts as out."""
WINDOW_S = 30.0
"""How far back rates look: workers hand their counts over every few seconds, so shorter ones would jump."""


class Asked(Generic[T]):
    """One server. `answer` is its latest figures, or None with the reason in `error`."""

    def __init__(self, name: ServerName, question: Callable[[], T]) -> None:
        self.name = name
        self._question = question
        self._done = threading.Event()
        self._done.set()
        self._answer: T | None = None
        self._answered_at = time.monotonic()
        self._took_ms: int | None = None
        self._error = ""

    def ask(self) -> None:
        """Begin to ask, unless it is still being asked."""
        if self._done.is_set():
            self._done.clear()
            # A daemon: whoever quits mustn't wait for a server that hangs.
            threading.Thread(target=self._run, name=f"ask {self.name}", daemon=True).start()

    def wait(self, until: float) -> None:
        """Return when it has answered, or at that time of the steady clock."""
        self._done.wait(max(0.0, until - time.monotonic()))

    def latest(self, stale_after_s: float) -> tuple[T | None, ServerView]:
        """Its figures as far as they are fresh, and how it fares."""
        silent_s = time.monotonic() - self._answered_at
        if self._error:
            return None, ServerView(name=self.name, up=False, error=self._error)
        if silent_s > stale_after_s or self._answer is None:
            said = f"no answer for {silent_s:.0f} s"
            return None, ServerView(name=self.name, up=False, error=said)
        return self._answer, ServerView(name=self.name, up=True, answer_ms=self._took_ms)

    def _run(self) -> None:
        began = time.monotonic()
        try:
            answer, error = self._question(), ""
        except IssueTrackerError as failure:
            answer, error = None, str(failure)
        except Exception as failure:
            # Left to the thread its traceback would be drawn across the screen, and nobody would say what is amiss. Of
            # the error only its type: what it says may hold a password.
            logger.debug("a bug in what %s is asked", self.name, exc_info=True, extra=action("telemetry.bug"))
            answer, error = None, f"its answer isn't understood ({type(failure).__name__})"
        self._answer, self._error = answer, error
        self._answered_at = time.monotonic()
        self._took_ms = int((self._answered_at - began) * 1000)
        self._done.set()


class Past:
    """What Redis said before, from which rates are told."""

    def __init__(self) -> None:
        self._looks: deque[RedisFigures] = deque()

    def rates(self, latest: RedisFigures) -> Rates | None:
        """What was counted since the oldest look of the window, or else since the one before; None at the first."""
        looks = self._looks
        if looks and looks[-1].now_ms > latest.now_ms:
            # Another Redis has taken over, whose clock is behind: nothing can be told from what the other one said.
            looks.clear()
        if not looks or looks[-1].now_ms < latest.now_ms:
            looks.append(latest)
        # The look before stays however long ago it was: the time between two may be longer than the window.
        while len(looks) > 2 and latest.now_ms - looks[0].now_ms > WINDOW_S * 1000:
            looks.popleft()
        before = looks[0]
        if before.now_ms == latest.now_ms:
            return None
        seconds = (latest.now_ms - before.now_ms) / 1000
        return Rates(latest.readings.since(before.readings), seconds, before.beats)


class Lookout:
    """`look` from one thread."""

    def __init__(self, wiring: Wiring) -> None:
        self._settings = wiring.settings
        self._clock = wiring.machine_clock
        self._redis: Asked[RedisFigures] = Asked("redis", lambda: redis_figures(wiring))
        self._kafka: Asked[KafkaFigures] = Asked("kafka", lambda: kafka_figures(wiring))
        self._sql: Asked[SqlFigures] = Asked("database", lambda: sql_figures(wiring))
        self._past = Past()

    def look(self, within_s: float) -> Overview:
        """The pipeline as all servers tell it that answer within that time, or did a moment ago."""
        until = time.monotonic() + within_s
        asked: tuple[Asked[RedisFigures] | Asked[KafkaFigures] | Asked[SqlFigures], ...]
        asked = (self._kafka, self._redis, self._sql)
        for server in asked:
            server.ask()
        for server in asked:
            server.wait(until)
        stale_after_s = within_s + LATE_S
        redis, redis_view = self._redis.latest(stale_after_s)
        kafka, kafka_view = self._kafka.latest(stale_after_s)
        sql, sql_view = self._sql.latest(stale_after_s)
        return put_together(
            self._settings,
            self._clock.now_ms(),
            (kafka_view, redis_view, sql_view),
            redis=redis,
            kafka=kafka,
            sql=sql,
            rates=self._past.rates(redis) if redis else None,
        )
