"""Counts and times things in the memory of one process, and hands the sums to the store of all now and then.

Counting is what every message pays for, so it is a lock and an addition; names and labels are turned into cells when
they are handed over. While the store is out the sums grow and nothing is lost; how many there are is bounded.
"""

import secrets
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.metrics import METRICS, Kind, MetricName
from issuetracker_dagster.model.readings import INFINITE, MICROSECONDS, SUM, Batch, Cell

MOST_SERIES = 5_000
"""Series kept in memory at most; labels from outside are counted as `other` beyond that."""
LONGEST_LABEL = 100
_BOUNDS = {name: metric.bounds for name, metric in METRICS.items() if metric.kind is Kind.HISTOGRAM}
_PARTS = {name: (*map(str, bounds), INFINITE, SUM) for name, bounds in _BOUNDS.items()}

_Series = tuple[MetricName, tuple[str, ...]]


class Meter:
    """What happened in this process since the last `flush`; `add` is that of a `MetricStore`. Thread-safe."""

    def __init__(self, add: Callable[[Batch], None]) -> None:
        self._add = add
        self._writer = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._counts: dict[_Series, list[int]] = {}  # each a sum that is added to in place: one look-up a call
        self._times: dict[_Series, list[int]] = {}
        self._sending = threading.Lock()
        self._sequence = 0
        self._unsent: Batch | None = None

    def count(self, name: MetricName, *labels: str, amount: int = 1) -> None:
        """Add to a counter; labels in the order of `METRICS`."""
        series = (name, labels)
        with self._lock:
            sums = self._counts.get(series)
            if sums is None:
                sums = self._counts.setdefault(self._new(series), [0])
            sums[0] += amount

    def observe(self, name: MetricName, seconds: float, *labels: str) -> None:
        """Add a duration to a histogram; a clock that went back counts as no time at all."""
        seconds = max(0.0, seconds)
        series = (name, labels)
        place = bisect_left(_BOUNDS[name], seconds)
        with self._lock:
            sums = self._times.get(series)
            if sums is None:
                sums = self._times.setdefault(self._new(series), [0] * len(_PARTS[name]))
            sums[place] += 1
            sums[-1] += int(seconds * MICROSECONDS)

    def flush(self) -> None:
        """Hand over what was gathered, in one round trip; raises `Unavailable`, and then the next flush does it.

        A batch whose fate is unknown is sent again as it was, so that it counts once.
        """
        with self._sending:
            if self._unsent is not None:
                self._send(self._unsent)
            amounts = self._taken()
            if amounts:
                self._sequence += 1
                self._send(Batch(self._writer, self._sequence, amounts))

    def _send(self, batch: Batch) -> None:
        self._unsent = batch
        try:
            self._add(batch)
        except TransientError:
            raise
        except Exception:
            self._unsent = None  # whatever the store can't take would be in the way for ever
            raise
        self._unsent = None

    def _new(self, series: _Series) -> _Series:
        name, labels = series
        if len(labels) != len(METRICS[name].labels):
            raise TypeError(f"{name} takes the labels {METRICS[name].labels}, not {labels}")
        if METRICS[name].open and len(self._counts) + len(self._times) >= MOST_SERIES:
            return name, Cell(name, labels).elsewhere().labels
        return series

    def _taken(self) -> Counter[Cell]:
        with self._lock:
            counts, self._counts = self._counts, {}
            times, self._times = self._times, {}
        cells: Counter[Cell] = Counter()
        for (name, labels), (amount,) in counts.items():
            cells[Cell(name, _short(labels))] += amount
        for (name, labels), sums in times.items():
            for part, amount in zip(_PARTS[name], sums, strict=True):
                if amount:
                    cells[Cell(name, _short(labels), part)] += amount
        return cells


def _short(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label[:LONGEST_LABEL] for label in labels)
