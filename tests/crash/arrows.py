"""The arrows of a message's journey: the gaps between two steps, at which a process may be stopped.

Each is named by the last call before it or the first call after it, on a port of one of the processes.
"""

import itertools
from enum import StrEnum
from typing import Literal

import msgspec

from issuetracker_dagster.model.stage import Topic

HIGH, NORMAL, DLQ = Topic.CRAWL_HIGH.value, Topic.CRAWL_NORMAL.value, Topic.DLQ.value
NORMALIZED, FETCHED = Topic.NORMALIZED.value, Topic.FETCHED.value


class Scene(StrEnum):
    """Which process is stopped, and on what it works."""

    PUBLISH = "publish"
    DRAIN = "drain"
    INTAKE = "intake"
    SHIFT = "shift"
    DIRECT = "direct shift"
    FETCH = "fetch shift"
    RELAY = "relay"
    REDRIVE = "redrive"


class Blow(StrEnum):
    """How the process is stopped."""

    KILL = "SIGKILL"
    TERM = "SIGTERM"
    INT_TWICE = "SIGINT twice"
    STOP = "SIGSTOP, SIGCONT"
    """Until its leases and locks have run out and another did its work."""


class Arrow(msgspec.Struct, frozen=True):
    """`part` is the port (as the wiring names it), `call` its method: stopped `side` the `nth` call that has anything
    to do, and, of a producer, that goes to `topic`.
    """

    scene: Scene
    name: str
    part: str
    call: str
    side: Literal["before", "after"] = "after"
    nth: int = 2
    topic: str = ""
    armed: str = ""
    """Calls count only after one of this other method."""
    shown: bool = False
    """Whether the suite stops a process here by every signal; elsewhere it is SIGKILL, which forgives least."""

    @property
    def title(self) -> str:
        return f"{self.scene.value}: {self.name}"


P, D, I, S, X, F, R, A = Scene  # noqa: E741 - a table reads better with short names

ARROWS = (
    Arrow(P, "marker set → publish", "producer", "publish", "before", 1, HIGH),
    Arrow(P, "published → marker confirmed", "producer", "publish", "after", 2, HIGH, shown=True),
    Arrow(P, "marker set → buffer", "buffers", "push", "before"),
    Arrow(P, "buffered → marker confirmed", "buffers", "push"),
    Arrow(P, "marker confirmed → next batch", "ingestion", "confirm"),
    Arrow(D, "lock → first batch", "locks", "acquire", nth=1),
    Arrow(D, "taken → published", "buffers", "take", nth=1),
    Arrow(D, "published → done", "batch_producer", "publish", topic=NORMAL, shown=True),
    Arrow(D, "done → next batch", "buffers", "advance"),
    Arrow(I, "polled → pushed", "reader", "poll"),
    Arrow(I, "malformed in DLQ → pushed", "producer", "publish", nth=1, topic=DLQ),
    Arrow(I, "pushed → on disk", "queue:parser", "push", shown=True),
    Arrow(I, "on disk → committed", "reader", "commit", "before"),
    Arrow(I, "committed → next poll", "reader", "commit"),
    Arrow(S, "claimed → handled", "queue:parser", "claim", nth=3),
    Arrow(S, "handled (SQL written) → forwarded", "handler", "handle", nth=3),
    Arrow(S, "links published → forwarded", "producer", "publish", nth=1, topic=NORMAL),
    Arrow(S, "forwarded → acknowledged", "producer", "publish", nth=3, topic=NORMALIZED, shown=True),
    Arrow(S, "failed → retry written", "retry_set", "schedule", "before"),
    Arrow(S, "retry written → acknowledged", "retry_set", "schedule"),
    Arrow(S, "acknowledged → next claim", "queue:parser", "ack"),
    Arrow(S, "dead → DLQ", "producer", "publish", "before", 2, DLQ),
    Arrow(S, "in DLQ → acknowledged", "producer", "publish", topic=DLQ),
    Arrow(X, "polled → handled", "reader", "poll", nth=1),
    Arrow(X, "handled (SQL written) → forwarded", "handler", "handle", nth=3),
    Arrow(X, "forwarded → committed", "producer", "publish", nth=3, topic=NORMALIZED),
    Arrow(X, "retry written → committed", "retry_set", "schedule"),
    Arrow(X, "in DLQ → committed", "producer", "publish", topic=DLQ),
    Arrow(X, "settled → committed", "reader", "commit", "before", 1, armed="settled", shown=True),
    Arrow(X, "committed → next poll", "reader", "commit", nth=1, armed="settled"),
    Arrow(F, "not due → in the frontier", "frontier", "defer", "before"),
    Arrow(F, "in the frontier → on disk", "frontier", "defer", shown=True),
    Arrow(F, "on disk → committed", "frontier", "settle_writes", nth=1),
    Arrow(F, "taken from the frontier → handled", "frontier", "take"),
    Arrow(F, "forwarded → acknowledged", "producer", "publish", topic=FETCHED),
    Arrow(F, "acknowledged in the frontier → next", "frontier", "ack"),
    Arrow(R, "due → published", "retry_set", "due", nth=1),
    Arrow(R, "published → removed", "producer", "publish", nth=1, topic=FETCHED, shown=True),
    Arrow(R, "removed → next", "retry_set", "remove", nth=1),
    Arrow(R, "leases reaped → outbox", "queue:parser", "reap", nth=1),
    Arrow(R, "outbox → DLQ", "queue:parser", "outbox", nth=1),
    Arrow(R, "in DLQ → out of the outbox", "producer", "publish", nth=1, topic=DLQ),
    Arrow(A, "letters read → published", "dead_letters", "kept"),
    Arrow(A, "published → marked redriven", "producer", "publish", topic=FETCHED, shown=True),
    Arrow(A, "marked redriven → next batch", "dead_letters", "mark"),
)

MATRIX = tuple(itertools.product(ARROWS, Blow))
"""Every arrow by every signal: what `make crash-matrix` runs."""

SUITE = tuple((arrow, blow) for arrow, blow in MATRIX if blow is Blow.KILL or arrow.shown)
"""What the test suite runs of it, in a third of the time: SIGKILL everywhere, every signal once in each process."""
