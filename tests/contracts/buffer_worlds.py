"""What the suites of `Buffer` share: a buffer in each world, and entries."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.buffer import MemoryBuffer, MemoryBufferSwitch
from issuetracker_dagster.adapters.redis.buffer import RedisBuffer, RedisBufferSwitch
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.ports.buffer import SWITCH_LASTS_MS, Buffer, BufferSwitch
from tests.contracts.redis_worlds import World, open_world

NOW_MS = 1_750_000_000_000


@dataclass
class BufferWorld:
    """A world, and one buffer in it under a key that no other test uses."""

    world: World
    key: str = field(default_factory=lambda: f"test:{uuid.uuid4().hex}")

    def buffer(self, max_len: int = 0) -> Buffer:
        """A buffer; on a server a second one sees what the first one stored."""
        if self.world.client is None:
            return MemoryBuffer(self.key, max_len=max_len)
        return RedisBuffer(self.world.client, self.key, max_len=max_len)

    def switch(self, lasts_ms: int = SWITCH_LASTS_MS) -> BufferSwitch:
        if self.world.client is None:
            return MemoryBufferSwitch(SystemClock(), lasts_ms=lasts_ms)
        return RedisBufferSwitch(self.world.client, f"{self.key}:on", lasts_ms=lasts_ms)


def open_buffer_world(request: pytest.FixtureRequest) -> BufferWorld:
    """The world that the fixture's parameter names."""
    return BufferWorld(open_world(request))


def entries(names: Iterable[str]) -> list[bytes]:
    return [b"\x00entry of " + name.encode() for name in names]


def names(found: Iterable[bytes]) -> str:
    """The names of one letter that `entries` were made of."""
    return "".join(one.rpartition(b" ")[2].decode() for one in found)


def job(number: int) -> bytes:
    """An entry that was buffered `number` milliseconds after `NOW_MS`."""
    record = Outgoing("crawl.normal", b"example.com", b'{"v":1}', (("root_id", str(number).encode()),))
    return encode_buffered(BufferedJob(NOW_MS + number, record))


def drained(buffer: Buffer, epoch: int, limit: int = 100) -> str:
    """Take and be done until nothing is left; the names in the order in which they came."""
    found = ""
    while taken := buffer.take(epoch, limit):
        found += names(taken)
        buffer.done(epoch)
    return found
