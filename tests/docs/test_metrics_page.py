"""The page of metrics names each one with its labels, unit and meaning, and no other; its queries name real ones."""

import re
from pathlib import Path

from issuetracker_dagster.model.metrics import METRICS, Kind, MetricName

PAGE = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")
TABLES = {Kind.COUNTER: "## Counters", Kind.HISTOGRAM: "## Durations", Kind.GAUGE: "## Figures of the moment"}
NAME = re.compile(r"\bissuetracker_[a-z_]+\b")
PARTS = ("_bucket", "_count", "_sum")


def row(name: MetricName) -> str:
    metric = METRICS[name]
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
    return f"| `{name}` | {labels} | {metric.unit} | {metric.meaning} |"


def section(heading: str) -> list[str]:
    return PAGE.split(f"{heading}\n")[1].split("\n## ")[0].splitlines()


def test_every_metric_is_in_the_table_of_its_kind_as_the_code_has_it() -> None:
    for kind, heading in TABLES.items():
        rows = [line for line in section(heading) if line.startswith("| `")]
        assert rows == [row(name) for name, metric in METRICS.items() if metric.kind is kind]


def test_the_page_names_no_metric_that_isnt_there() -> None:
    named = {name.removesuffix(part) for name in NAME.findall(PAGE) for part in PARTS if name.endswith(part)}
    named |= {name for name in NAME.findall(PAGE) if not name.endswith(PARTS)}
    assert named <= set(METRICS)


def test_queries_ask_for_labels_that_the_metric_has() -> None:
    for name, selector in re.findall(r"(issuetracker_[a-z_]+)\{(.*?)\}", PAGE):
        base = next((name.removesuffix(part) for part in PARTS if name.endswith(part)), name)
        asked = set(re.findall(r"(\w+)[!=]~?=?\"", selector))
        assert asked
        assert asked <= set(METRICS[base].labels)
