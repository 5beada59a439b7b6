"""What a dead letter is published as when it is sent round again, and why some stay where they are."""

from enum import StrEnum

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.headers import RawHeaders
from issuetracker_dagster.model.letters import REDRIVE_COUNT, REDRIVE_HISTORY, UNKNOWN_STAGE, Letter
from issuetracker_dagster.model.message import Message, Outgoing, Record, message_of
from issuetracker_dagster.model.stage import FACTS, Stage, Topic, input_topic

LIVES_KEPT = 5
ERROR_KEPT = 200
"""How much of its past a message carries: it travels with it through every stage, and must fit beside the value."""
_PREFIX = "dlq_"


class Left(StrEnum):
    """Why a letter stays where it is. What can't be read as a message needs an edit, and that a person's hand."""

    EXHAUSTED = "exhausted"
    NO_IDENTITY = "no_identity"
    NO_STAGE = "no_stage"
    NO_VALUE = "no_value"
    GONE = "gone"
    TOO_LARGE = "too_large"


EXPLAINED = {
    Left.EXHAUSTED: "redriven too often already; --force sends it round again",
    Left.NO_IDENTITY: "no readable identity; it needs an edit, so publish its URL or value anew",
    Left.NO_STAGE: "names no stage of ours and no topic that one reads",
    Left.NO_VALUE: "came without its value, which was too large even for the DLQ",
    Left.GONE: "retention has removed it from the DLQ, and it was too large to be kept in the index",
    Left.TOO_LARGE: "larger than its topic accepts",
}


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One earlier death of a message, as it carries it in its headers."""

    stage: str
    reason: str
    error: str
    generation: int
    at_ms: int
    redriven_ms: int


def lives(headers: RawHeaders) -> tuple[Life, ...]:
    """The earlier deaths that these headers tell of, oldest first; none when the header isn't readable."""
    told = dict(headers).get(REDRIVE_HISTORY, b"")
    try:
        return msgspec.json.decode(told, type=tuple[Life, ...]) if told else ()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()


def redriven(letter: Letter, record: Record | None, now_ms: int, *, force: bool) -> Outgoing | Left:
    """The record to publish, or why there is none. `record` is None when it can't be read any more.

    It goes back to the topic it was read from, else to the input of its stage: next generation, attempt 1, key, value,
    priority and all other headers as they were, one more redrive counted and its last death added to its history.
    """
    if not letter.has_identity:
        return Left.NO_IDENTITY
    if letter.is_exhausted and not force:
        return Left.EXHAUSTED
    if record is None:
        return Left.GONE
    if any(name == "dlq_value_bytes" for name, _ in record.headers):
        return Left.NO_VALUE
    try:
        message = message_of(record)
    except Malformed:
        return Left.NO_IDENTITY
    topic = _topic(letter, message)
    return Left.NO_STAGE if topic is None else Outgoing.of(topic, _again(letter, message, now_ms))


def _topic(letter: Letter, message: Message) -> Topic | None:
    stage = None if letter.stage == UNKNOWN_STAGE else Stage(letter.stage)
    inputs = [topic for facts in FACTS.values() for topic in facts.inputs if stage in (None, facts.stage)]
    # Only a topic that the stage reads: a letter of somebody else's hand could name any.
    read = next((topic for topic in inputs if topic.value == letter.source_topic), None)
    if read is not None or stage is None:
        return read
    return input_topic(stage, message.headers.priority)


def _again(letter: Letter, message: Message, now_ms: int) -> Message:
    headers = message.headers
    death = Life(
        stage=letter.stage,
        reason=letter.reason,
        error=letter.error[:ERROR_KEPT],
        generation=headers.generation,
        at_ms=letter.at_ms,
        redriven_ms=now_ms,
    )
    past = (*lives(headers.other), death)[-LIVES_KEPT:]
    ours = (REDRIVE_COUNT, REDRIVE_HISTORY)
    kept = [each for each in headers.other if not each[0].startswith(_PREFIX) and each[0] not in ours]
    told = ((REDRIVE_COUNT, b"%d" % (letter.redrive_count + 1)), (REDRIVE_HISTORY, msgspec.json.encode(past)))
    return message.evolve(generation=headers.generation + 1, attempt=1, other=(*kept, *told))
