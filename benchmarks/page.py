"""The part of `benchmarks/README.md` that is written from the figures file: tables, curves and notes."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.catalogue import BENCHES
from benchmarks.plot import drawn
from benchmarks.recorded import Record, Series
from benchmarks.table import bound, middle, number, verdict

PAGE = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- written by `python -m benchmarks --save` -->", "<!-- until here -->"


def rewrite(records: Mapping[str, Record], page: Path = PAGE) -> None:
    """Put the records between the two marks of the page, and the curves of each into a picture of its own beside it."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    written = "\n".join(_lines(records))
    page.write_text(f"{before}{BEGIN}\n\n{written}\n{END}{after}", encoding="utf-8")
    for name, record in _in_order(records).items():
        if record.curves:
            page.with_name(_picture(name)).write_text(drawn(record.curves), encoding="utf-8")


def _picture(name: str) -> str:
    return f"{name}.svg"


def _lines(records: Mapping[str, Record]) -> Iterator[str]:
    ordered = _in_order(records)
    for setup in dict.fromkeys(str(record.setup) for record in ordered.values()):
        names = [name for name, record in ordered.items() if str(record.setup) == setup]
        days = sorted({ordered[name].day for name in names})
        when = " to ".join(dict.fromkeys((days[0], days[-1])))
        yield f"{', '.join(f'`{name}`' for name in names)}: {when}, on {setup}."
        yield ""
    for name, record in ordered.items():
        yield f"### `{name}`: {BENCHES[name].about}"
        yield ""
        runs = f"{record.runs} runs, load {record.load:.1f}"
        yield f"| {runs} | figure | limit | judged: lowest to highest | median | target | |"
        yield "|---|---|---|---|---|---|---|"
        for figure, series in record.figures.items():
            yield _row(figure, series)
        yield ""
        for note in record.notes:
            yield f"- {note}"
        if record.notes:
            yield ""
        if record.curves:
            yield f"![what an operation costs, by how many there are]({_picture(name)})"
            yield ""
            yield "Dashed: the first cost, risen as log n does."
            yield ""


def _row(figure: str, series: Series) -> str:
    judged = f"{number(min(series.judged))} to {number(max(series.judged))}"
    cells = (
        figure,
        f"{number(middle(series.values))} {series.unit}",
        f"{number(middle(series.limits))} {series.unit}" if series.limits else "",
        judged,
        f"**{number(series.median)}**",
        bound(series),
        verdict(series),
    )
    return f"| {' | '.join(cells)} |"


def _in_order(records: Mapping[str, Record]) -> dict[str, Record]:
    return {name: records[name] for name in BENCHES if name in records}
