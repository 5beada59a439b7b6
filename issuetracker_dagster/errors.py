"""Errors, by what the caller does next. Every module raises one of these or lets a bug through."""

from collections.abc import Iterable


class IssueTrackerError(Exception):
    """The root of every error that this package raises on purpose."""


class ConfigError(IssueTrackerError):
    """A setting or a surrounding is wrong; raised at start only. The text names it and what is accepted."""


class TransientError(IssueTrackerError):
    """It may work later: the message is retried with a growing delay.

    `retry_at_ms` (Unix milliseconds) is the earliest moment at which to try again, if the far side named one.
    """

    def __init__(self, reason: str, *, retry_at_ms: int | None = None) -> None:
        super().__init__(reason)
        self.retry_at_ms = retry_at_ms


class NotDue(IssueTrackerError):
    """The host may not be asked before `due_ms`; the job waits in the host's frontier and no attempt is counted."""

    def __init__(self, host: str, due_ms: int, reason: str) -> None:
        super().__init__(f"{host} isn't due before {due_ms}: {reason}")
        self.host = host
        self.due_ms = due_ms
        self.reason = reason


class UrlBusy(IssueTrackerError):
    """Another worker holds this URL at this stage; the message comes back shortly and no attempt is counted."""


class PermanentError(IssueTrackerError):
    """It will never work: malformed, rejected by the far side, attempts used up. The message goes to the DLQ.

    `code` is a short stable word (`http_404`, `too_large`) that the DLQ and its filters show.
    """

    def __init__(self, reason: str, *, code: str = "permanent") -> None:
        super().__init__(reason)
        self.code = code


class Malformed(PermanentError):
    """Bytes that don't decode to what the topic carries."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code="malformed")


class RecordsRefused(PermanentError):
    """The broker never takes some records of a batch; all others of it were acknowledged and needn't be sent again."""

    def __init__(self, reason: str, *, refused: Iterable[object], code: str = "too_large") -> None:
        super().__init__(reason, code=code)
        self.refused = tuple(refused)
        self._refused = frozenset(map(id, self.refused))

    def includes(self, record: object) -> bool:
        """Whether that record of the batch, the very object, is among the refused ones."""
        return id(record) in self._refused


class NeedsRefetch(IssueTrackerError):
    """The stored page can't yield a content; it must be fetched again (at most `RECRAWL_MAX` times)."""


class QueueFull(TransientError):
    """The stage queue refused a push (`*_ZSET_OVERFLOW=backpressure`); Kafka holds the rest."""


class PublishFailed(TransientError):
    """The broker didn't acknowledge; nothing after it may be committed or removed.

    `arrived` are those records of the batch which it did acknowledge, as far as is known: they needn't be sent again.
    """

    def __init__(self, reason: str, *, arrived: Iterable[object] = ()) -> None:
        super().__init__(reason)
        self.arrived = tuple(arrived)


class LagUnknown(TransientError):
    """The lag of a group can't be read now; whoever depends on it skips its cycle."""


class TopicMissing(LagUnknown):
    """A topic isn't there: workers make those that are missing when they begin."""


class Unavailable(TransientError):
    """Kafka, Redis or the database can't be reached. The text names the setting that says where it should be."""


class Full(Unavailable):
    """The server has no room left. It still answers, hands out what it holds and takes what needs no room."""


class AlreadyRunning(TransientError):
    """Somebody else does it right now, and two at once would do it twice."""


class CommitRefused(TransientError):
    """Kafka refused an offset commit because the group still has live members; tried again at the next tick."""


class StaleLease(IssueTrackerError):
    """A newer holder has been here: stop, and touch nothing that it may hold by now."""
