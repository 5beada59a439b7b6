"""What `deploy/` asks Prometheus: its files read, and the metrics and labels that an expression names."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from issuetracker_dagster.model import metrics
from issuetracker_dagster.model.metrics import Kind, Metric

METRICS: Mapping[str, Metric] = {str(name): metric for name, metric in metrics.METRICS.items()}
"""By any text, as the names in expressions are."""
ROOT = Path(__file__).parents[2]
PROMETHEUS = ROOT / "deploy" / "prometheus"
DASHBOARD = ROOT / "deploy" / "grafana" / "issuetracker.json"

_SELECTED = re.compile(r"(?<![\w:])(issuetracker_[a-z_]+)(?:\{(.*?)\})?")
_RECORDED = re.compile(r"\b[a-z_]+:issuetracker_[a-z_]+:[a-z0-9]+\b")
_OF_PROMETHEUS = {"instance", "job"}


def read_yaml(name: str) -> Any:
    """A file of `deploy/prometheus`."""
    return yaml.safe_load((PROMETHEUS / name).read_text(encoding="utf-8"))


def rules() -> list[dict[str, Any]]:
    """Every rule, of alerts and of sums, in order."""
    return [rule for group in read_yaml("alerts.yml")["groups"] for rule in group["rules"]]


def alerts() -> list[dict[str, Any]]:
    """The rules that alert."""
    return [rule for rule in rules() if "alert" in rule]


def panels() -> list[dict[str, Any]]:
    """Every panel of the dashboard as it is on disk, titles of rows included."""
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return found


def shown() -> Iterator[tuple[str, str]]:
    """(title of the panel, expression) of all that the dashboard asks, with its variables as they are at first."""
    for panel in panels():
        for target in panel.get("targets", ()):
            expr = target["expr"].replace("$__rate_interval", "5m").replace("$stage", ".*")
            assert "$" not in expr, f"{panel['title']}: a variable that nobody fills"
            yield panel["title"], expr


def metrics_in(expr: str) -> dict[str, set[str]]:
    """The labels that are selected of each metric, by the metric's name as it is in `METRICS`."""
    found: dict[str, set[str]] = {}
    for name, selector in _SELECTED.findall(expr):
        labels = set(re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"', selector))
        found.setdefault(_base(name), set()).update(labels)
    return found


def sums_in(expr: str) -> set[str]:
    """The recorded sums that an expression names."""
    return set(_RECORDED.findall(expr))


def unknown_in(expr: str, recorded: set[str]) -> list[str]:
    """What an expression asks that isn't there: metrics, sums, and labels of neither."""
    named = metrics_in(expr)
    wrong = sorted(set(named) - set(METRICS)) + sorted(sums_in(expr) - recorded)
    known = {name: {*METRICS[name].labels, *_OF_PROMETHEUS, "le"} for name in named if name in METRICS}
    wrong += [f"{name}{{{label}}}" for name in known for label in sorted(named[name] - known[name])]
    of_any = {label for labels in known.values() for label in labels} | (
        {"stage", "priority", "reason", "fault"} if sums_in(expr) else set()
    )
    grouped = {word.strip() for inner in re.findall(r"\b(?:by|on)\s*\((.*?)\)", expr) for word in inner.split(",")}
    return wrong + sorted(grouped - of_any - {""})


def _base(name: str) -> str:
    stem, _, part = name.rpartition("_")
    is_part = part in ("bucket", "count", "sum") and stem in METRICS
    return stem if is_part and METRICS[stem].kind is Kind.HISTOGRAM else name
