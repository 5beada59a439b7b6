"""What `make bench` says of its figures: which keep their target, and which moved."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks import __main__ as main
from benchmarks import page, recorded
from benchmarks.catalogue import BENCHES
from benchmarks.figures import Curve, Figure, Result, against
from benchmarks.recorded import Record, moved, record_of
from benchmarks.table import shown, what_moved


def runs_of(*ratios: float, at_most: bool = False, target: float = 0.5) -> Record:
    figures = [
        Figure(name="push", value=100 * ratio, unit="msg/s", limit=100.0, ratio=ratio, target=target, at_most=at_most)
        for ratio in ratios
    ]
    return record_of([Result(figures=(figure,)) for figure in figures], load=0.2)


def test_a_figure_is_judged_by_its_ratio_to_the_limit_of_the_same_round() -> None:
    figure = against("push", "msg/s", [50, 30, 90], [100, 50, 100], 0.5)

    assert figure.ratio == 0.6
    assert figure.value == 50


@pytest.mark.parametrize(("ratio", "at_most", "kept"), [(0.5, False, True), (0.49, False, False), (0.51, True, False)])
def test_targets_bind_the_median(ratio: float, at_most: bool, kept: bool) -> None:
    assert runs_of(0.0, ratio, 1.0, at_most=at_most).figures["push"].is_met is kept


def test_what_lies_within_the_recorded_spread_has_not_moved() -> None:
    before = runs_of(0.50, 0.52, 0.54, 0.56, 0.58)

    assert not moved(runs_of(0.61).figures["push"], before.figures["push"], before.runs)


@pytest.mark.parametrize(
    ("now", "at_most", "said"), [(0.40, False, "WORSE"), (0.70, False, "better"), (0.70, True, "WORSE")]
)
def test_what_moved_further_is_named_with_its_direction(now: float, at_most: bool, said: str) -> None:
    before = runs_of(0.50, 0.52, 0.54, 0.56, 0.58, at_most=at_most)

    (line,) = what_moved({"queue": runs_of(now, at_most=at_most)}, {"queue": before})

    assert line.startswith("queue: push: ")
    assert line.endswith(said)


def test_a_record_of_too_few_runs_has_no_spread_to_compare_with() -> None:
    before = runs_of(0.50, 0.52)

    assert not what_moved({"queue": runs_of(0.1)}, {"queue": before})


def test_a_record_survives_its_file_and_leaves_other_benchmarks_there(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    recorded.write({"queue": runs_of(0.5)}, file)
    recorded.write({"memory": runs_of(0.7)}, file)

    assert {name: record.figures["push"].ratios for name, record in recorded.read(file).items()} == {
        "queue": (0.5,),
        "memory": (0.7,),
    }


def test_curves_are_the_medians_of_all_runs() -> None:
    curves = [
        Curve(name="claim", things="entries", unit="us", points=((10.0, cost), (1_000.0, 2 * cost)))
        for cost in (1.0, 2.0, 9.0)
    ]

    (curve,) = record_of([Result(figures=(), curves=(curve,)) for curve in curves], load=0.2).curves

    assert curve.points == ((10.0, 2.0), (1_000.0, 4.0))
    assert curve.growth == pytest.approx(2 / 3)


def test_the_page_keeps_what_people_wrote_around_the_tables(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")

    page.rewrite({"queue": runs_of(0.5)}, readme)
    page.rewrite({"queue": runs_of(0.6)}, readme)

    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "**0.6**" in text
    assert "old" not in text
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]


def test_curves_become_a_picture_beside_the_page_which_shows_it(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{page.BEGIN}\n{page.END}\n")
    curves = tuple(
        Curve(name=name, things="entries", unit="us", points=((10.0, 1.0), (1_000.0, 2.0), (1_000_000.0, 3.0)))
        for name in ("claim", "push & wait", "take")
    )
    records = {name: record_of([Result(figures=(), curves=curves)], load=0.2) for name in ("growth", "clusters")}

    page.rewrite(records, readme)

    for name in records:
        assert f"]({name}.svg)" in readme.read_text()
        picture = ElementTree.parse(tmp_path / f"{name}.svg")  # noqa: S314 - drawn a line above
        texts = {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}
        assert {"claim", "push & wait", "take", "10", "1k", "1M"} <= texts


def test_every_benchmark_of_the_catalogue_has_a_module() -> None:
    folder = Path(recorded.__file__).parent

    assert [name for name in BENCHES if not (folder / f"{name}.py").exists()] == []


def test_the_table_names_limit_target_and_verdict() -> None:
    head, line = shown("queue", runs_of(0.4), None)

    assert head == "queue (1 run)"
    assert line.split() == ["push", "40", "msg/s", "100.0", "0.4", ">=", "0.5", "MISSED", "0.4", "0.4"]


def test_a_run_that_is_not_saved_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Result(figures=(Figure(name="push", value=1.0, unit="s"),))
    written: list[object] = []
    monkeypatch.setattr(main, "results_of", lambda _, runs: [found] * runs)
    monkeypatch.setattr(page, "rewrite", written.append)
    monkeypatch.setattr(recorded, "write", written.append)

    monkeypatch.setattr(sys, "argv", ["benchmarks", "queue", "--runs", "5"])
    assert main.main() == 0
    assert not written
    monkeypatch.setattr(sys, "argv", ["benchmarks", "queue", "--save"])
    with pytest.raises(SystemExit):
        main.main()
    assert not written
    monkeypatch.setattr(sys, "argv", ["benchmarks", "queue", "--runs", "5", "--save"])
    assert main.main() == 0
    assert len(written) == 2
