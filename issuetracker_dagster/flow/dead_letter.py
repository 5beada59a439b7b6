"""The form of a dead letter: key, value and headers byte for byte, and beside them why, where from and when."""

from issuetracker_dagster.model.headers import RawHeaders
from issuetracker_dagster.model.message import Message, Origin, Outgoing, Record
from issuetracker_dagster.model.stage import Stage, Topic

_ERROR_LIMIT = 2_000
_PREFIX = "dlq_"


def dead_letter(item: Message | Record, stage: Stage, reason: str, error: str, at_ms: int) -> Outgoing:
    """A record for the DLQ. `reason` is a short stable word, `error` its text (cut at 2,000 characters).

    Dead-letter headers of an earlier life are replaced, all other headers stay as they were.
    """
    headers = item.headers if isinstance(item, Record) else item.headers.to_raw()
    return Outgoing(Topic.DLQ, item.key, item.value, _marked(headers, item.origin, stage, reason, error, at_ms))


def dead_bytes(member: str, data: bytes, stage: Stage, reason: str, error: str, at_ms: int) -> Outgoing:
    """A record for the DLQ of something that doesn't decode as a message: its bytes, keyed by the queue member."""
    return Outgoing(Topic.DLQ, member.encode(), data, _marked((), None, stage, reason, error, at_ms))


def _marked(
    headers: RawHeaders, origin: Origin | None, stage: Stage, reason: str, error: str, at_ms: int
) -> list[tuple[str, bytes]]:
    notes = {"reason": reason, "stage": stage.value, "error": error[:_ERROR_LIMIT], "at_ms": str(at_ms)}
    if origin is not None:
        notes |= {
            "source_topic": origin.topic,
            "source_partition": str(origin.partition),
            "source_offset": str(origin.offset),
        }
    kept = [(name, value) for name, value in headers if not name.startswith(_PREFIX)]
    return kept + [(_PREFIX + name, text.encode("utf-8", "replace")) for name, text in notes.items()]
