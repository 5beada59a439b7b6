"""The whole pipeline at one moment, as `issuetracker top` shows it; the field names are those of `top --json`.

None is what can't be told: its server is out, or, of a rate, there was no look before. Rates are a second, over the
looks of the last half minute.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

ServerName = Literal["kafka", "redis", "database"]


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """A server and whether it answered lately; `error` says why not, `answer_ms` how long its figures took."""

    name: ServerName
    up: bool
    error: str = ""
    answer_ms: int | None = None


class BandView(msgspec.Struct, frozen=True, kw_only=True):
    """One priority of a stage. `ready` and `oldest_age_ms` are those of its queue; fetch has none and reads a topic of
    its own for each band, whose `unread` messages are here."""

    band: str
    ready: int | None = None
    oldest_age_ms: int | None = None
    unread: int | None = None
    claims_per_s: float | None = None


class WorkersView(msgspec.Struct, frozen=True, kw_only=True):
    """The worker runs of a stage: alive by their heartbeats, wanted by the settings, and where their work comes from:
    `queue`, `direct` (Kafka), `starting`; `paused` when nearly all of its messages died. `waiting` are those that met a
    server that was out in the last half minute. `is_off`: whether its toggle is off; None when nobody is missing,
    nobody has moved it, or it can't be told.
    """

    alive: int | None = None
    wanted: int = 0
    modes: tuple[str, ...] = ()
    waiting: int = 0
    is_off: bool | None = None

    @property
    def are_missing(self) -> bool:
        """Whether fewer are known to live than are wanted."""
        return self.alive is not None and self.alive < self.wanted


class StageView(msgspec.Struct, frozen=True, kw_only=True):
    """One stage. `unread` are the messages of its topics that its group hasn't read, `handled_per_s` what its workers
    settled (not what comes again: its host wasn't due, a server was out), `dead_per_s` those of them that went to the
    DLQ."""

    stage: str
    workers: WorkersView
    bands: tuple[BandView, ...]
    leased: int | None = None
    delayed: int | None = None
    outbox: int | None = None
    unread: int | None = None
    handled_per_s: float | None = None
    dead_per_s: float | None = None


class BufferView(msgspec.Struct, frozen=True, kw_only=True):
    """The buffer before one crawl topic."""

    topic: str
    waiting: int
    draining: int
    outbox: int
    oldest_age_ms: int
    paused: bool


class BuffersView(msgspec.Struct, frozen=True, kw_only=True):
    """All buffers, whether publishers put jobs aside, and the last sign of a drain run (None: never)."""

    buffering: bool
    drain_run_silent_ms: int | None
    topics: tuple[BufferView, ...]


class DeadLettersView(msgspec.Struct, frozen=True, kw_only=True):
    """The index of the DLQ: open letters, those that died in the last ten minutes and in the last hour, and the
    commonest of the hour as `stage/reason`."""

    open: int
    last_10_min: int
    last_hour: int
    commonest: Mapping[str, int]


class RulesView(msgspec.Struct, frozen=True, kw_only=True):
    """The rule snapshot in force, and when it was last compared with the rules in the database."""

    version: int
    rules: int
    refused: int
    checked_age_ms: int


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """One look. `frontier` are crawl jobs whose host isn't due, `retries` messages that wait for another try,
    `not_indexed` letters on the DLQ that the index doesn't have yet, `relay_silent_ms` the time since the last tick of
    the retry relay (None: never)."""

    at_ms: int
    servers: tuple[ServerView, ...]
    stages: tuple[StageView, ...]
    frontier: int | None = None
    retries: int | None = None
    relay_silent_ms: int | None = None
    buffers: BuffersView | None = None
    dead_letters: DeadLettersView | None = None
    not_indexed: int | None = None
    rules: RulesView | None = None
