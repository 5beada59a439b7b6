"""The one table in which `make bench` says what it found, and what moved since the last record."""

from collections.abc import Iterator, Mapping

from benchmarks.recorded import Record, Series, moved

HEAD = ("", "figure", "unit", "limit", "ratio", "target", "", "runs from", "to", "recorded", "moved")
_WIDTHS = (42, 11, 12, 11, 8, 8, 7, 10, 9, 9, 0)


def shown(name: str, record: Record, before: Record | None) -> Iterator[str]:
    """The lines of one benchmark."""
    yield f"{name} ({record.runs} {'run' if record.runs == 1 else 'runs'})"
    for figure, series in record.figures.items():
        known = before.figures.get(figure) if before else None
        yield _line(
            (
                f"  {figure}",
                number(middle(series.values)),
                series.unit,
                number(middle(series.limits)) if series.limits else "",
                number(series.median) if series.ratios else "",
                bound(series),
                verdict(series),
                number(min(series.judged)),
                number(max(series.judged)),
                number(known.median) if known else "",
                moved(series, known, before.runs if before else 0),
            )
        )
    for note in record.notes:
        yield f"    {note}"


def head() -> str:
    """The line above all others."""
    return _line(HEAD)


def what_moved(records: Mapping[str, Record], before: Mapping[str, Record]) -> list[str]:
    """The figures that are further from the last record than its runs were from each other."""
    lines = []
    for name, record in records.items():
        known = before.get(name)
        for figure, series in record.figures.items() if known else ():
            assert known is not None
            change = moved(series, known.figures.get(figure), known.runs)
            if change:
                lines.append(f"{name}: {figure}: {change}")
    return lines


def bound(series: Series) -> str:
    """`>= 0.5`, or nothing."""
    return "" if series.target is None else f"{'<=' if series.at_most else '>='} {number(series.target)}"


def verdict(series: Series) -> str:
    """`met`, `MISSED`, or nothing where nothing is promised."""
    if series.target is None:
        return ""
    return "met" if series.is_met else "MISSED"


def number(value: float) -> str:
    """Three significant digits and thousands apart."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def middle(values: tuple[float, ...]) -> float:
    """The median, of an even number the upper one."""
    return sorted(values)[len(values) // 2]


def _line(cells: tuple[str, ...]) -> str:
    first, *others, last = cells
    sized = zip(others, _WIDTHS[1:-1], strict=True)
    return f"{first:{_WIDTHS[0]}}" + "".join(f"{cell:>{width}}" for cell, width in sized) + f"  {last}"
