"""The form of a dead letter: key, value and headers byte for byte, and beside them why, where from and when."""

import logging
from collections.abc import Sequence

from issuetracker_dagster.errors import PublishFailed, RecordsRefused
from issuetracker_dagster.model.headers import RawHeaders
from issuetracker_dagster.model.message import Message, Origin, Outgoing, Record
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.topics import Producer

logger = logging.getLogger(__name__)

_ERROR_LIMIT = 2_000
_PREFIX = "dlq_"
_KEPT_BYTES = 4 * _ERROR_LIMIT
_KEPT_HEADERS = 100
"""What stays of key and headers on a letter which lost its value, the dead-letter headers in any case."""


def dead_letter(item: Message | Record | Outgoing, stage: Stage, reason: str, error: str, at_ms: int) -> Outgoing:
    """A record for the DLQ. `reason` is a short stable word, `error` its text (cut at 2,000 characters).

    Dead-letter headers of an earlier life are replaced, all other headers stay as they were. An `Outgoing` has never
    been in Kafka.
    """
    headers = item.headers.to_raw() if isinstance(item, Message) else item.headers
    origin = None if isinstance(item, Outgoing) else item.origin
    return Outgoing(Topic.DLQ, item.key, item.value, _marked(headers, origin, stage, reason, error, at_ms))


def dead_bytes(member: str, data: bytes, stage: Stage, reason: str, error: str, at_ms: int) -> Outgoing:
    """A record for the DLQ of something that doesn't decode as a message: its bytes, keyed by the queue member."""
    return Outgoing(Topic.DLQ, member.encode(), data, _marked((), None, stage, reason, error, at_ms))


def bury(producer: Producer, letters: Sequence[Outgoing]) -> None:
    """Publish letters to the DLQ; raises `PublishFailed`, whose `arrived` are the letters that are there already.

    One that is too large even for the DLQ goes there without its value, since it would hold up everything behind it:
    a producer that compresses gets such messages into any topic. Its headers say where in Kafka the value still is.
    """
    try:
        producer.publish(letters)
    except RecordsRefused as error:
        refused = [letter for letter in letters if error.includes(letter)]
        logger.error(
            "the DLQ gets %d letters without their value: %s",
            len(refused),
            error,
            extra=action("message.dead_lettered", count=len(refused)),
        )
        bare = [_without_value(letter) for letter in refused]
        try:
            producer.publish(bare)
        except PublishFailed as failed:
            there = set(map(id, failed.arrived))
            whole = [letter for letter in letters if not error.includes(letter)]
            shortened = [letter for letter, short in zip(refused, bare, strict=True) if id(short) in there]
            raise PublishFailed(str(failed), arrived=[*whole, *shortened]) from failed


def _without_value(letter: Outgoing) -> Outgoing:
    key = letter.key if letter.key is not None and len(letter.key) <= _KEPT_BYTES else None
    short = [(name, value) for name, value in letter.headers if len(name) <= _KEPT_BYTES and len(value) <= _KEPT_BYTES]
    # The dead-letter headers are the last ones.
    notes = [*short[-_KEPT_HEADERS:], (_PREFIX + "value_bytes", b"%d" % len(letter.value))]
    return Outgoing(letter.topic, key, b"", notes)


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
