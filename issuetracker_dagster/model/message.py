"""The envelope in which a payload travels, and its compact form inside Redis."""

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.headers import Headers, RawHeaders, headers_from_raw


class Origin(msgspec.Struct, frozen=True):
    """Where in Kafka a message was read; `timestamp_ms` is the record's own time."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class Record(msgspec.Struct, frozen=True):
    """A Kafka record as read, before anybody has judged its headers."""

    origin: Origin
    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes], ...]


class Message(msgspec.Struct, frozen=True):
    """A message of the journey. `value` is the payload's JSON; `origin` is None until it has been in Kafka."""

    headers: Headers
    key: bytes | None
    value: bytes
    origin: Origin | None = None

    @property
    def identity(self) -> str:
        return self.headers.identity

    def evolve(self, **changes: object) -> "Message":
        """A copy with some headers changed, the payload untouched."""
        return msgspec.structs.replace(self, headers=self.headers.evolve(**changes))


def message_of(record: Record) -> Message:
    """The message of a Kafka record; raises `Malformed` when its identity is missing."""
    return Message(headers_from_raw(record.headers), record.key, record.value, record.origin)


class Outgoing(msgspec.Struct, frozen=True):
    """A record to publish. `topic` is a short name (`parser`'s input is `fetched`); the adapter adds the prefix."""

    topic: str
    key: bytes | None
    value: bytes
    headers: RawHeaders

    @classmethod
    def of(cls, topic: str, message: Message) -> "Outgoing":
        return cls(topic, message.key, message.value, message.headers.to_raw())


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message)


def encode_envelope(message: Message) -> bytes:
    """The message in msgpack, as queues, frontier and retry set keep it: key, headers and origin included."""
    return _encoder.encode(message)


def decode_envelope(data: bytes) -> Message:
    """Inverse of `encode_envelope`; raises `Malformed`."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"the stored envelope doesn't decode: {error}") from None
