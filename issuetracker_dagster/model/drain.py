"""A drain run in numbers: what came out of the buffers, and how long it had waited there."""

import math
from collections import Counter

import msgspec

_STEP = 1.05
"""Ratio of two neighbouring buckets of waiting times, so the error of a percentile is at most 5 %."""


class DrainSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run did, and why it ended. Durations in milliseconds.

    `published` counts jobs that the broker acknowledged, by band; `recovered` what dead drainers had left; `repeated`
    those among the published that may have been in Kafka before; `set_aside` jobs which the broker refused and that
    went to the retry set. Dwell is the time between buffering and the acknowledgement, `longest_pause_ms` the longest
    time for which a band stood still because the broker refused.
    """

    reason: str
    published: dict[str, int] = {}
    recovered: int = 0
    repeated: int = 0
    set_aside: int = 0
    dead_lettered: int = 0
    dwell_p50_ms: int = 0
    dwell_p95_ms: int = 0
    dwell_max_ms: int = 0
    longest_pause_ms: int = 0


class DwellTimes:
    """Waiting times in buckets that grow by 5 %: some hundred numbers, however many jobs there are."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.longest_ms = 0

    def add(self, waited_ms: int) -> None:
        """One more; a clock that went back counts as no time at all."""
        waited_ms = max(0, waited_ms)
        self.longest_ms = max(self.longest_ms, waited_ms)
        self._buckets[math.ceil(math.log(waited_ms, _STEP)) if waited_ms else -1] += 1

    def percentile_ms(self, share: float) -> int:
        """A time that `share` of the jobs didn't exceed, up to 5 % too long; 0 when there were none."""
        buckets = dict(self._buckets)  # a copy, since another thread may ask while the run goes on
        rank = math.ceil(share * sum(buckets.values()))
        seen = 0
        for bucket in sorted(buckets):
            seen += buckets[bucket]
            if seen >= rank:
                return min(self.longest_ms, math.ceil(_STEP**bucket)) if bucket >= 0 else 0
        return 0


class DrainTally:
    """What a run has done so far."""

    def __init__(self) -> None:
        self.published: Counter[str] = Counter()
        self.dwell = DwellTimes()
        self.recovered = 0
        self.repeated = 0
        self.set_aside = 0
        self.dead_lettered = 0
        self.longest_pause_ms = 0

    def summary(self, reason: str) -> DrainSummary:
        return DrainSummary(
            reason=reason,
            published=dict(self.published),
            recovered=self.recovered,
            repeated=self.repeated,
            set_aside=self.set_aside,
            dead_lettered=self.dead_lettered,
            dwell_p50_ms=self.dwell.percentile_ms(0.5),
            dwell_p95_ms=self.dwell.percentile_ms(0.95),
            dwell_max_ms=self.dwell.longest_ms,
            longest_pause_ms=self.longest_pause_ms,
        )
