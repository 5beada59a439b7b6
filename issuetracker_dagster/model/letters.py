"""A dead letter as the index of the DLQ knows it: what can be told of any record there, even of random bytes."""

import hashlib
from enum import StrEnum

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.priority import priority_from_headers
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.urls import host_of

MAX_REDRIVES = 3
"""A letter that was redriven so often and died again is exhausted: another round would end the same way."""
KEEP_BYTES = 8 * 1024
"""A record up to this size is kept in the index whole, so that it outlives the retention of the topic."""
UNKNOWN_STAGE = "unknown"
"""The stage of a letter that doesn't name one of ours: somebody else wrote it to the topic."""
STAGES = (*(stage.value for stage in Stage), UNKNOWN_STAGE)
REDRIVE_COUNT = "redrive_count"
REDRIVE_HISTORY = "redrive_history"

_DAY_MS = 86_400_000
_LARGEST = 2**63 - 1
_WORD, _LINE, _TEXT = 64, 255, 2_000
"""Longest texts in characters: those that are searched by have to fit into a database's index."""


class LetterState(StrEnum):
    """What became of a letter."""

    OPEN = "open"
    REDRIVEN = "redriven"
    PURGED = "purged"


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the index. Times are Unix milliseconds.

    `identity` is that of the message, or `dlq:<partition>:<offset>` when none can be read. `dlq_*` is where the letter
    lies, `logged_ms` the time of that record; `source_*` is where its message was read, -1 and empty when it never was
    in Kafka. `key` is for people; `value_bytes` is the length of the value.
    """

    letter_id: int = 0
    identity: str
    stage: str = UNKNOWN_STAGE
    reason: str = ""
    error: str = ""
    priority: int = 2
    target_type: str = ""
    host: str = ""
    url: str = ""
    raw_id: int = 0
    key: str = ""
    value_bytes: int = 0
    source_topic: str = ""
    source_partition: int = -1
    source_offset: int = -1
    dlq_partition: int
    dlq_offset: int
    logged_ms: int
    redrive_count: int = 0
    state: LetterState = LetterState.OPEN
    state_ms: int = 0
    at_ms: int

    @property
    def is_exhausted(self) -> bool:
        """Whether only force sends it round again."""
        return self.state is LetterState.OPEN and self.redrive_count >= MAX_REDRIVES

    @property
    def has_identity(self) -> bool:
        """Whether it can be told from other messages; what can't has nowhere to go back to."""
        return not self.identity.startswith("dlq:")


class Indexed(msgspec.Struct, frozen=True):
    """What the index stores of a letter: `name` is the same each time it is read, `record` empty if it's too large."""

    letter: Letter
    name: str
    record: bytes


class LetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which letters are meant; what is empty or 0 admits all. `since_ms` is inclusive, `before_ms` exclusive.

    `host` is exact, or `*.` in front of a domain, which doesn't include the domain itself. `url` has no index of its
    own: give its host, too. `named` is an identity or a root id.
    """

    stages: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    host: str = ""
    url: str = ""
    since_ms: int = 0
    before_ms: int = 0
    states: tuple[LetterState, ...] = (LetterState.OPEN,)
    named: str = ""
    letter_ids: tuple[int, ...] = ()

    def admits(self, letter: Letter) -> bool:
        """Whether the letter is meant."""
        return (
            (not self.stages or letter.stage in self.stages)
            and (not self.reasons or letter.reason in self.reasons)
            and (not self.host or _is_host(letter.host, self.host))
            and (not self.url or letter.url == self.url)
            and letter.at_ms >= self.since_ms
            and (not self.before_ms or letter.at_ms < self.before_ms)
            and (not self.states or letter.state in self.states)
            and (not self.named or self.named in (letter.identity, letter.identity.rpartition(":")[0]))
            and (not self.letter_ids or letter.letter_id in self.letter_ids)
        )


def _is_host(host: str, wanted: str) -> bool:
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else host == wanted


def letter_of(record: Record) -> Letter:
    """What the index says of a record on the DLQ. Never raises: anything may lie there."""
    values = dict(record.headers)
    facts = payload_facts(record.value)
    stage = _text(values.get("dlq_stage"), _WORD)
    key = _text(record.key, _LINE)
    logged_ms = max(0, record.origin.timestamp_ms)
    at_ms = _number(values.get("dlq_at_ms"), 0)
    return Letter(
        identity=_identity(record),
        stage=stage if stage in STAGES else UNKNOWN_STAGE,
        reason=_text(values.get("dlq_reason"), _WORD),
        error=_text(values.get("dlq_error"), _TEXT),
        priority=int(priority_from_headers(values.get("priority"))),
        target_type=_text(values.get("target_type"), _WORD),
        # The key of a crawl job is its host, which a job that doesn't decode can't name otherwise.
        host=(host_of(facts.url) or (key if stage == Stage.FETCH else ""))[:_LINE],
        url=facts.url[:_TEXT],
        raw_id=facts.raw_id if 0 <= facts.raw_id <= _LARGEST else 0,
        key=key,
        value_bytes=len(record.value),
        source_topic=_text(values.get("dlq_source_topic"), _LINE),
        source_partition=_number(values.get("dlq_source_partition"), -1, 2**31 - 1),
        source_offset=_number(values.get("dlq_source_offset"), -1),
        dlq_partition=record.origin.partition,
        dlq_offset=record.origin.offset,
        logged_ms=logged_ms,
        redrive_count=_number(values.get(REDRIVE_COUNT), 0, 2**31 - 1),
        # A time far from the record's own would keep the letter from being found by age, or have it forgotten at once.
        at_ms=at_ms if abs(at_ms - logged_ms) <= _DAY_MS else logged_ms,
    )


def indexed(record: Record) -> Indexed:
    """The letter with its name and, unless that is too large, the record itself."""
    letter = letter_of(record)
    return Indexed(letter, _name(letter, record), _kept(record))


def _kept(record: Record) -> bytes:
    if len(record.value) > KEEP_BYTES:
        return b""
    try:
        encoded = encode_record(record)
    except UnicodeEncodeError:
        return b""  # the name of a header is no text: it stays in Kafka
    return encoded if len(encoded) <= KEEP_BYTES else b""


def encode_record(record: Record) -> bytes:
    """The record in msgpack, byte for byte."""
    return msgspec.msgpack.encode(record)


def decode_record(data: bytes) -> Record:
    """Inverse of `encode_record`."""
    return msgspec.msgpack.decode(data, type=Record)


def _identity(record: Record) -> str:
    try:
        return headers_from_raw(record.headers).identity
    except Malformed:
        return f"dlq:{record.origin.partition}:{record.origin.offset}"


def _name(letter: Letter, record: Record) -> str:
    """The same for a letter that was read twice, and for one that was written twice because its writer was killed.

    What has no identity is named by its place; its time tells it from that of a topic which was made anew.
    """
    parts = [letter.identity.encode("utf-8", "surrogatepass"), letter.stage.encode()]
    parts.append(record.value if letter.has_identity else b"%d" % letter.logged_ms)
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def _text(value: bytes | None, limit: int) -> str:
    return (value or b"").decode("utf-8", "replace")[:limit].replace("\x00", "\ufffd")


def _number(value: bytes | None, default: int, most: int = _LARGEST) -> int:
    text = _text(value, 20)
    return int(text) if text.isascii() and text.isdigit() and int(text) <= most else default
