"""The buffer before Kafka in one process: who puts jobs aside, who drains them, and how it stands.

Publishers see through Redis whether buffering is on; the toggle itself is Dagster's, known to its runs and ticks only.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping

import msgspec

from issuetracker_dagster.adapters.redis.buffer import RedisBuffer, RedisBufferSwitch
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.buffer import BufferingProducer
from issuetracker_dagster.flow.drain import BufferDrainer
from issuetracker_dagster.flow.lag import LagWithin
from issuetracker_dagster.flow.throttle import BacklogThrottler
from issuetracker_dagster.model.buffer import BufferState
from issuetracker_dagster.model.limits import Limits, LimitsByBand
from issuetracker_dagster.model.stage import BAND_OF_TOPIC, FACTS, Stage, Topic
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.buffer import SWITCH_LASTS_MS, BufferSwitch
from issuetracker_dagster.ports.locks import Heartbeats
from issuetracker_dagster.ports.topics import Producer
from issuetracker_dagster.wiring.connections import Connections

logger = logging.getLogger(__name__)

BUFFER_KEYS = {Topic.CRAWL_NORMAL: "publisher:buffer:normal", Topic.CRAWL_LOW: "publisher:buffer:low"}
DRAINER = "drain_backlog"
"""The name under which a drain run gives signs of life."""
DRAINER_SILENT_AFTER_MS = SWITCH_LASTS_MS
"""Silence after which nobody can be expected to drain."""
SWITCH_EVERY_S = 2.0


class SwitchView:
    """The switch as publishers of this process see it, at most two seconds old. Thread-safe.

    While Redis is out the last answer stands: a buffer that can't be written lets jobs go straight to Kafka. One caller
    asks, and the others go on with the last answer meanwhile; only for the very first they wait.
    """

    def __init__(self, switch: BufferSwitch) -> None:
        self._switch = switch
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._is_on = False

    def __call__(self) -> bool:
        if self._is_old() and self._lock.acquire(blocking=not self._was_read()):
            try:
                if self._is_old():
                    self._look()
            finally:
                self._lock.release()
        return self._is_on

    def _was_read(self) -> bool:
        return self._read_at > float("-inf")

    def _is_old(self) -> bool:
        return time.monotonic() - self._read_at > SWITCH_EVERY_S

    def _look(self) -> None:
        try:
            self._is_on = self._switch.is_on()
        except Unavailable as error:
            logger.warning("buffering stays as it was: %s", error, extra=action("redis.unavailable"))
        finally:
            # Afterwards: while Redis hangs, nobody would be free of waiting for it else.
            self._read_at = time.monotonic()


class Buffering(Connections):
    """The parts of the buffer."""

    @property
    def buffers(self) -> Mapping[Topic, RedisBuffer]:
        """The buffer of each topic that has one."""
        limit = self.settings.publish.publisher_redis_buffer_max_len
        return self._part(
            "buffers",
            lambda: {topic: RedisBuffer(self.redis, key, max_len=limit) for topic, key in BUFFER_KEYS.items()},
        )

    @property
    def buffer_switch(self) -> RedisBufferSwitch:
        return self._part("buffer_switch", lambda: RedisBufferSwitch(self.redis))

    @property
    def first_publisher(self) -> BufferingProducer:
        """The producer of first publishes, and of nothing else: retries, recrawls and redrives never wait here."""
        return self._part("first_publisher", self._first_publisher)

    def _first_publisher(self) -> BufferingProducer:
        return BufferingProducer(
            raw=self.producer,
            buffers=self._by_name(),
            is_on=self.buffering_is_on,
            clock=self.clock,
            buffered=self.telemetry.steps.buffered,
        )

    @property
    def buffering_is_on(self) -> Callable[[], bool]:
        """Whether publishers of this process put jobs aside."""
        return self._part("buffering_is_on", self._buffering_is_on)

    def _buffering_is_on(self) -> Callable[[], bool]:
        # The rollback is each process' own setting: it needs no drain run, no toggle and no Redis to be obeyed.
        if self.settings.publish.publisher_redis_buffer_enabled is False:
            return lambda: False
        return SwitchView(self.buffer_switch)

    @property
    def throttler(self) -> BacklogThrottler:
        """Tells which seeds are held back; asked by the seed scheduler."""
        return self._part("throttler", self._throttler)

    def _throttler(self) -> BacklogThrottler:
        publish = self.settings.publish
        return BacklogThrottler(
            lag=self.lag_within(publish.scheduler_backlog_check_timeout),
            group=FACTS[Stage.FETCH].group,
            limit=publish.scheduler_max_backlog,
            buffers=self._by_name(),
            is_on=self.buffering_is_on,
            is_stale=lambda: drainer_is_stale(self.heartbeats),
            clock=self.clock,
        )

    def _by_name(self) -> dict[str, RedisBuffer]:
        return {topic.value: buffer for topic, buffer in self.buffers.items()}

    def drainer(self, *, producer: Producer | None = None, group: str = FACTS[Stage.FETCH].group) -> BufferDrainer:
        """A drainer for one run, by a raw producer and for the crawlers unless another is named."""
        publish = self.settings.publish
        return BufferDrainer(
            buffers=self._by_name(),
            producer=producer or self.batch_producer,
            lag=self.lag_within(publish.publisher_redis_buffer_check_timeout),
            group=group,
            retries=self.retry_set,
            ingestion=self.ingestion,
            locks=self.locks,
            switch=self.buffer_switch,
            clock=self.clock,
            target=publish.publisher_redis_buffer_target_backlog,
            batch=publish.publisher_redis_buffer_drain_batch,
            interval_ms=publish.publisher_redis_buffer_drain_interval,
            drained=self.telemetry.steps.drained,
        )

    def lag_within(self, timeout_ms: int) -> LagWithin:
        """The lag of the crawl topics, or `LagUnknown` after that time."""
        return LagWithin(self.lag, timeout_ms)


class BufferHealth(msgspec.Struct, frozen=True):
    """How a topic's buffer stands, whether jobs are put aside, and for how long no drain run has shown itself (None:
    never)."""

    topic: Topic
    state: BufferState
    max_len: int
    switch_is_on: bool
    silent_ms: int | None
    now_ms: int
    age_limits: Limits = Limits(0, 0)
    full_limits: Limits = Limits(0, 0)

    @property
    def drainer_is_silent(self) -> bool:
        return self.silent_ms is None or self.silent_ms > DRAINER_SILENT_AFTER_MS

    @property
    def oldest_age_ms(self) -> int:
        """How long the first in line has waited."""
        return max(0, self.now_ms - self.state.oldest_ms) if self.state.oldest_ms else 0


def buffer_health(wiring: Buffering) -> list[BufferHealth]:
    """Both buffers at this moment; raises `Unavailable`."""
    is_on, silent_ms = wiring.buffer_switch.is_on(), drainer_silence_ms(wiring.heartbeats)
    now_ms, check = wiring.clock.now_ms(), wiring.settings.check
    ages, full = LimitsByBand(check.age_warn, check.age_error), Limits(check.buffer_warn, check.buffer_error)
    return [
        BufferHealth(
            topic, buffer.state(), buffer.max_len, is_on, silent_ms, now_ms, ages.of(BAND_OF_TOPIC[topic]), full
        )
        for topic, buffer in wiring.buffers.items()
    ]


def drainer_silence_ms(heartbeats: Heartbeats) -> int | None:
    """Time since the last sign of life of a drain run; None when there never was one. Raises `Unavailable`."""
    beats = heartbeats.alive(DRAINER)
    return max(0, heartbeats.now_ms() - max(beat.at_ms for beat in beats)) if beats else None


def drainer_is_stale(heartbeats: Heartbeats) -> bool:
    """Whether nobody can be expected to drain."""
    silent_ms = drainer_silence_ms(heartbeats)
    return silent_ms is None or silent_ms > DRAINER_SILENT_AFTER_MS
