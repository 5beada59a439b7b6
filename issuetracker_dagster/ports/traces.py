"""What has lately been published and what has become of messages, each up to a cap and written in batches."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.headers import TargetType


class TraceLine(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a message; `action` as in the log, `detail` short and without secrets."""

    root_id: str
    generation: int
    trace_id: str = ""
    stage: str = ""
    action: str
    detail: str = ""
    at_ms: int


class MessageTrace(Protocol):
    """The latest steps of messages, up to a cap."""

    def write(self, lines: Sequence[TraceLine]) -> None:
        """Append a batch; the oldest lines beyond the cap go. Not idempotent: a batch sent twice shows twice."""

    def of(self, root_or_trace_id: str, limit: int) -> Sequence[TraceLine]:
        """The latest written lines of that root or trace, in the order in which the steps happened: processes write
        theirs every few seconds, so that a later step may well be written first."""


class PublishedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A published crawl job and what decided its priority (`explicit`, `source`, `rule 12`, `default`)."""

    url: str
    host: str
    source: str = ""
    target_type: TargetType
    priority: int
    decided_by: str = ""
    at_ms: int


class PublishedRecent(Protocol):
    """The latest published jobs, up to a cap, against which a change of rules can be previewed."""

    def write(self, jobs: Sequence[PublishedJob]) -> None:
        """Append a batch; the oldest beyond the cap go. Not idempotent."""

    def latest(self, limit: int) -> Sequence[PublishedJob]:
        """Newest first."""
