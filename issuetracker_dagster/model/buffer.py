"""Crawl jobs that wait in Redis until Kafka has room: the entry as it is kept there, and a buffer in figures."""

import msgspec

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.message import Outgoing


class BufferedJob(msgspec.Struct, frozen=True):
    """A record on its way to a crawl topic; `buffered_ms` (Unix) is when it was put aside."""

    buffered_ms: int
    record: Outgoing


class BufferState(msgspec.Struct, frozen=True, kw_only=True):
    """One buffer at a glance. `waiting` are in line, `draining` in the hands of a drainer (or left by a dead one),
    `outbox` on their way to the DLQ; `oldest_ms` (Unix) is when the first of the backlog was buffered, 0 when there is
    none or it doesn't decode. `paused` while a batch that the broker refused waits in the retry set.
    """

    waiting: int = 0
    draining: int = 0
    outbox: int = 0
    oldest_ms: int = 0
    paused: bool = False

    @property
    def backlog(self) -> int:
        """Jobs that aren't in Kafka yet."""
        return self.waiting + self.draining


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(BufferedJob)


def encode_buffered(job: BufferedJob) -> bytes:
    """The entry in msgpack."""
    return _encoder.encode(job)


def decode_buffered(data: bytes) -> BufferedJob:
    """Inverse of `encode_buffered`; raises `Malformed`."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"the buffered entry doesn't decode: {error}") from None


def buffered_ms_of(data: bytes) -> int:
    """When the entry was put aside (Unix), 0 when it doesn't decode."""
    try:
        return decode_buffered(data).buffered_ms
    except Malformed:
        return 0
