"""What is counted and timed, in numbers: what one process hands over at a time, and what all of them have together."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from issuetracker_dagster.model.metrics import METRICS, OTHER, MetricName

MICROSECONDS = 1_000_000
SUM = "sum"
"""The part of a histogram that adds up its durations, in whole microseconds."""
INFINITE = "+Inf"


class Cell(NamedTuple):
    """One number: a counter with its labels in the order of `METRICS`, or a part of a histogram.

    The `part` of a counter is empty; that of a histogram the upper bound of one bucket (what is in it and in no smaller
    one; `INFINITE` for the last), or `SUM`.
    """

    name: MetricName
    labels: tuple[str, ...] = ()
    part: str = ""

    def elsewhere(self) -> "Cell":
        """The cell that counts instead when the metric has all its series: the open label says `OTHER`."""
        metric = METRICS[self.name]
        labels = (
            OTHER if label == metric.open else said for label, said in zip(metric.labels, self.labels, strict=True)
        )
        return self._replace(labels=tuple(labels))


class Batch(msgspec.Struct, frozen=True):
    """What a process adds at once. `writer` names it, unique for ever; its `sequence` grows by one with each batch, so
    that a batch sent again after a lost reply counts once."""

    writer: str
    sequence: int
    amounts: Mapping[Cell, int]


class Histogram(msgspec.Struct, frozen=True):
    """Durations by upper bound in seconds (not cumulative; the last bound is infinite), and their sum."""

    buckets: Mapping[float, int]
    sum_s: float = 0.0

    @property
    def count(self) -> int:
        return sum(self.buckets.values())

    @property
    def mean_s(self) -> float:
        return self.sum_s / self.count if self.count else 0.0

    def percentile_s(self, share: float) -> float:
        """The bound that `share` of the durations didn't exceed; 0 when there are none, the largest finite bound when
        it lies beyond."""
        rank, seen, finite = share * self.count, 0, 0.0
        if not rank:
            return 0.0
        for bound, count in sorted(self.buckets.items()):
            finite = bound if bound != float("inf") else finite
            seen += count
            if seen >= rank:
                break
        return finite


def histogram_of(name: MetricName, parts: Iterable[tuple[str, int]]) -> Histogram:
    """A histogram out of its parts, over the bounds of this version: a bucket of another version counts as the next
    larger one."""
    bounds = (*METRICS[name].bounds, float("inf"))
    buckets = dict.fromkeys(bounds, 0)
    sum_us = 0
    for part, amount in parts:
        if part == SUM:
            sum_us += amount
        else:
            buckets[bounds[bisect_left(bounds, float(part))]] += amount
    return Histogram(buckets, sum_us / MICROSECONDS)


class Readings(msgspec.Struct, frozen=True):
    """All cells at one moment. Labels are asked for by name; those left out are summed over."""

    cells: Mapping[Cell, int]

    def total(self, name: MetricName, **labels: str) -> int:
        """A counter, 0 when nothing has been counted."""
        return sum(amount for _, amount in self._of(name, labels))

    def by(self, name: MetricName, label: str, **labels: str) -> Mapping[str, int]:
        """A counter by the values of one label."""
        place = _place(name, label)
        found: Counter[str] = Counter()
        for cell, amount in self._of(name, labels):
            found[cell.labels[place]] += amount
        return dict(found)

    def histogram(self, name: MetricName, **labels: str) -> Histogram:
        """A histogram, added up as `total` does."""
        return histogram_of(name, ((cell.part, amount) for cell, amount in self._of(name, labels)))

    def grouped(self) -> Mapping[MetricName, Mapping[tuple[str, ...], Mapping[str, int]]]:
        """Every metric by its label values, and its amounts by part; in one pass, for those who want all of them."""
        found: dict[MetricName, dict[tuple[str, ...], dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
        for cell, amount in self.cells.items():
            found[cell.name][cell.labels][cell.part] = amount
        return found

    def since(self, before: "Readings") -> "Readings":
        """What was added after `before`; a counter that is smaller than it was has started anew."""
        grown: dict[Cell, int] = {}
        for cell, amount in self.cells.items():
            was = before.cells.get(cell, 0)
            grown[cell] = amount - was if amount >= was else amount
        return Readings(grown)

    def _of(self, name: MetricName, labels: Mapping[str, str]) -> Iterator[tuple[Cell, int]]:
        wanted = [(_place(name, label), said) for label, said in labels.items()]
        for cell, amount in self.cells.items():
            if cell.name == name and all(cell.labels[place] == said for place, said in wanted):
                yield cell, amount


def _place(name: MetricName, label: str) -> int:
    labels = METRICS[name].labels
    if label not in labels:
        raise ValueError(f"{name} has no label {label!r}, only {', '.join(labels) or 'none'}")
    return labels.index(label)
