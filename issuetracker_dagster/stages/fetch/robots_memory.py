"""What is known of each robots.txt: in this process, and together with all other workers."""

import logging
import zlib

import msgspec

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import SharedRobots
from issuetracker_dagster.stages.fetch.recent import Recent
from issuetracker_dagster.stages.fetch.robots_text import RobotsText, product_token

logger = logging.getLogger(__name__)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """How asking ended: the bytes, or None when everything is allowed; or nobody knows before `unavailable_until_ms`.

    It holds until `until_ms`.
    """

    until_ms: int
    raw: bytes | None = None
    unavailable_until_ms: int = 0


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """The same, read."""

    text: RobotsText | None = None  # None: everything is allowed
    unavailable_until_ms: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Found)


class RobotsMemory:
    """By origin and user agent. Without `shared`, this process is on its own."""

    def __init__(self, clock: Clock, hosts: int, shared: SharedRobots | None) -> None:
        self._clock = clock
        self._shared = shared
        self._recent: Recent[tuple[str, str], Known] = Recent(clock, hosts)

    def get(self, origin: str, user_agent: str) -> Known | None:
        """What is known without a request. Raises `Unavailable` when the others can't be asked."""
        known = self._recent.get((origin, user_agent))
        if known is not None or self._shared is None:
            return known
        packed = self._shared.get(_name(origin, user_agent))
        if packed is None:
            return None
        return self._read(origin, user_agent, _decoder.decode(zlib.decompress(packed)))

    def put(self, origin: str, user_agent: str, found: Found) -> Known:
        """Remember, and tell the others."""
        known = self._read(origin, user_agent, found)
        if self._shared is not None:
            packed = zlib.compress(_encoder.encode(found))
            try:
                self._shared.put(_name(origin, user_agent), packed, found.until_ms - self._clock.now_ms())
            except Unavailable as refused:
                # A full Redis refuses this for hours; what the host has answered holds here all the same.
                logger.warning(f"robots.txt of {origin} isn't shared: {refused}", extra=action("redis.unavailable"))
        return known

    def _read(self, origin: str, user_agent: str, found: Found) -> Known:
        text = None if found.raw is None else RobotsText(found.raw, user_agent)
        known = Known(text=text, unavailable_until_ms=found.unavailable_until_ms)
        self._recent.put((origin, user_agent), known, max(found.until_ms - self._clock.now_ms(), 1))
        return known


def _name(origin: str, user_agent: str) -> str:
    return f"{origin}:{product_token(user_agent)}"
