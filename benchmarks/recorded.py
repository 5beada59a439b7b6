"""The figures file: what each benchmark found in its runs when it was last recorded, and how far a run is from that."""

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.figures import Curve, Figure, Result
from benchmarks.setup import Setup, this_setup

FILE = Path(__file__).with_name("figures.json")
IDLE_LOAD = 1.5
FEWEST_RUNS = 5
"""A spread over fewer runs than these says nothing of a difference."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over some runs."""

    unit: str
    values: tuple[float, ...]
    limits: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()
    target: float | None = None
    at_most: bool = False

    @property
    def judged(self) -> tuple[float, ...]:
        """What is held against the target and against other records: ratios where there is a limit."""
        return self.ratios or self.values

    @property
    def median(self) -> float:
        return statistics.median(self.judged)

    @property
    def spread(self) -> float:
        return max(self.judged) - min(self.judged)

    @property
    def is_met(self) -> bool:
        """Whether the median keeps the target; without one there is nothing to keep."""
        if self.target is None:
            return True
        return self.median <= self.target if self.at_most else self.median >= self.target


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What one benchmark found in its runs. Curves are the medians of all runs, notes those of the last one.

    `load` is how many processes wanted a core of the machine before the first run; on an idle one it is about 0.
    """

    day: str
    load: float
    setup: Setup
    runs: int
    figures: dict[str, Series]
    curves: tuple[Curve, ...] = ()
    notes: tuple[str, ...] = ()


def record_of(results: Sequence[Result], load: float) -> Record:
    """The runs of one benchmark as one record of today."""
    by_name: dict[str, list[Figure]] = {}
    for result in results:
        for figure in result.figures:
            by_name.setdefault(figure.name, []).append(figure)
    return Record(
        day=datetime.now(UTC).date().isoformat(),
        load=load,
        setup=this_setup(),
        runs=len(results),
        figures={name: _series(figures) for name, figures in by_name.items()},
        curves=_median_curves([result.curves for result in results]),
        notes=results[-1].notes,
    )


def read(file: Path = FILE) -> dict[str, Record]:
    """The records by benchmark; none where nothing was ever recorded."""
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Record]) if file.exists() else {}


def write(records: dict[str, Record], file: Path = FILE) -> None:
    """Keep these beside those of other benchmarks."""
    merged = {**read(file), **records}
    file.write_bytes(msgspec.json.format(msgspec.json.encode(_rounded(msgspec.to_builtins(merged))), indent=1) + b"\n")


def moved(now: Series, before: Series | None, runs_before: int) -> str:
    """How far the median is from the recorded one when that is more than the recorded spread; else empty."""
    if before is None or runs_before < FEWEST_RUNS or abs(now.median - before.median) <= before.spread:
        return ""
    is_better = (now.median < before.median) == now.at_most
    change = f"{now.median / before.median - 1:+.0%}" if before.median else f"{now.median:+.3g}"
    return f"{change} {'better' if is_better else 'WORSE'}"


def _series(figures: Sequence[Figure]) -> Series:
    first = figures[0]
    return Series(
        unit=first.unit,
        values=tuple(figure.value for figure in figures),
        limits=tuple(figure.limit for figure in figures if figure.limit is not None),
        ratios=tuple(figure.ratio for figure in figures if figure.ratio is not None),
        target=first.target,
        at_most=first.at_most,
    )


def _median_curves(runs: Sequence[Sequence[Curve]]) -> tuple[Curve, ...]:
    return tuple(
        msgspec.structs.replace(
            same[0],
            points=tuple(
                (points[0][0], statistics.median(cost for _, cost in points))
                for points in zip(*(curve.points for curve in same), strict=True)
            ),
        )
        for same in zip(*runs, strict=True)
    )


def _rounded(found: object) -> object:
    """Four significant digits: more of them would be noise, and change with every record."""
    if isinstance(found, float):
        return float(f"{found:.4g}")
    if isinstance(found, dict):
        return {name: _rounded(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_rounded(value) for value in found]
    return found
