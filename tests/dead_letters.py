"""Dead letters for tests: as stages write them, and as anybody might."""

from issuetracker_dagster.flow.dead_letter import dead_letter
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.letters import Indexed, indexed
from issuetracker_dagster.model.message import Message, Origin, Outgoing, Record
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Stage, Topic

PLACE = Origin("fetched", 1, 7, 900)


def written(
    root_id: str = "r",
    value: bytes = b'{"url": "https://a.com/1"}',
    *,
    stage: Stage = Stage.PARSER,
    reason: str = "http_404",
    error: str = "not found",
    at_ms: int = 1_000,
    source: Origin | None = PLACE,
    **headers: object,
) -> Outgoing:
    """A letter on its way to the DLQ."""
    typed = Headers(root_id=root_id, priority=Priority.HIGH, trace_id="t").evolve(**headers)
    return dead_letter(Message(typed, b"key", value, source), stage, reason, error, at_ms)


def lying(outgoing: Outgoing, offset: int = 0, partition: int = 0, logged_ms: int = 2_000) -> Record:
    """The record as it is read from the DLQ."""
    place = Origin(Topic.DLQ.value, partition, offset, logged_ms)
    return Record(place, outgoing.key, outgoing.value, tuple(outgoing.headers))


def letter(
    root_id: str = "r", value: bytes = b'{"url": "https://a.com/1"}', offset: int = 0, **given: object
) -> Indexed:
    """What the index stores of it."""
    return indexed(lying(written(root_id, value, **given), offset))  # type: ignore[arg-type]


def junk(offset: int = 0, value: bytes = b"\xff\x00{", logged_ms: int = 2_000) -> Record:
    """Bytes that somebody put there."""
    return Record(Origin(Topic.DLQ.value, 0, offset, logged_ms), b"\xfe", value, (("root_id", b"\xff"), ("x", b"")))
