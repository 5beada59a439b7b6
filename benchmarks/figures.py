"""What a benchmark yields: named figures, each with its limit and target, curves, and notes on where time goes."""

import math
import statistics
from collections.abc import Callable, Sequence

import msgspec

Say = Callable[[str], None]
"""Tells whoever watches how far a long measurement is."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measured value. Where a `limit` was measured beside it, their ratio is what is judged, else the value.

    `target` is a lower bound of that, or with `at_most` an upper one; without a target nothing is promised.
    """

    name: str
    value: float
    unit: str
    limit: float | None = None
    ratio: float | None = None
    target: float | None = None
    at_most: bool = False


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation costs, in `unit`, as there are more of `things`: points by rising number."""

    name: str
    things: str
    unit: str
    points: tuple[tuple[float, float], ...]

    @property
    def growth(self) -> float:
        """The rise of the cost over that of log n, from first to last point: 1 makes n log n of n operations."""
        (few, cost), (many, cost_of_many) = self.points[0], self.points[-1]
        return (cost_of_many / cost) / (math.log(many) / math.log(few))


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run of a benchmark found."""

    figures: tuple[Figure, ...]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()


def against(
    name: str,
    unit: str,
    speeds: Sequence[float],
    limits: Sequence[float],
    target: float | None = None,
    *,
    at_most: bool = False,
) -> Figure:
    """The figure of speeds that took turns with their limit: the median, and the median of the rounds' ratios."""
    return Figure(
        name=name,
        value=statistics.median(speeds),
        unit=unit,
        limit=statistics.median(limits),
        ratio=statistics.median(speed / limit for speed, limit in zip(speeds, limits, strict=True)),
        target=target,
        at_most=at_most,
    )


def centile(values: Sequence[float], percent: int) -> float:
    """The value that so many percent don't exceed."""
    return statistics.quantiles(values, n=100)[percent - 1]
