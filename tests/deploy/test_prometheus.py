"""A real Prometheus scrapes a real exporter: it understands every expression, and each has something to show."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from issuetracker_dagster.model.metrics import METRICS, Kind, MetricName
from issuetracker_dagster.model.readings import INFINITE, SUM, Batch, Cell
from issuetracker_dagster.model.stage import Stage
from tests import services
from tests.cli.served import Served
from tests.cli.servers import at_servers
from tests.cli.terminal import Terminal
from tests.deploy.expressions import metrics_in, rules, shown
from tests.deploy.monitoring import Prometheus, running_prometheus
from tests.waiting import eventually

pytestmark = pytest.mark.services

SAID = {"stage": "parser", "priority": "high", "outcome": "forwarded", "host": "a.example.com", "topic": "fetched"}
"""What labels say where a test doesn't care."""


def _cell(name: MetricName, part: str = "", **labels: str) -> Cell:
    return Cell(name, tuple(labels.get(label, SAID.get(label, "some")) for label in METRICS[name].labels), part)


def every_counter() -> dict[Cell, int]:
    """Something of all that is counted or timed, of every stage."""
    amounts: dict[Cell, int] = {}
    for stage in Stage:
        for priority in ("high", "normal", "low"):
            for name, metric in METRICS.items():
                parts = {Kind.COUNTER: ("",), Kind.HISTOGRAM: ("0.1", INFINITE, SUM), Kind.GAUGE: ()}[metric.kind]
                amounts |= {_cell(name, part, stage=stage, priority=priority): 1 for part in parts}
    amounts[_cell("issuetracker_handled_total", outcome="dead_lettered")] = 1
    amounts[_cell("issuetracker_fetches_total", outcome="failed")] = 1
    return amounts


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory, kafka_bootstrap: str) -> Iterator[Prometheus]:
    """It has seen twice an exporter whose pipeline has done something of everything, and where no worker runs."""
    folder = tmp_path_factory.mktemp("watched")
    with pytest.MonkeyPatch.context() as patched, services.running_valkey(folder / "valkey") as redis:
        terminal = Terminal(folder, patched)
        operator = at_servers(terminal, patched, redis, kafka_bootstrap)
        operator.wiring.ready()
        terminal.does("rules", "refresh")
        operator.wiring.metric_store.add(Batch("test", 1, every_counter()))
        exporter = Served(folder, "--addr", "127.0.0.1:0")
        try:
            with running_prometheus(folder / "prometheus", urlsplit(exporter.url()).netloc) as found:
                eventually(lambda: found.ask("count_over_time(issuetracker_handled_total[1m]) > 1"), 60, 0.2)
                yield found
        finally:
            exporter.kill()
            operator.wiring.close()
            terminal.stores.close()


def test_prometheus_reaches_the_exporter_and_keeps_every_metric_of_it(prometheus: Prometheus) -> None:
    (target,) = prometheus.get("targets")["activeTargets"]
    assert (target["health"], target["lastError"], target["scrapePool"]) == ("up", "", "issuetracker")
    names = prometheus.get("label/__name__/values")
    assert set(METRICS) == {name for found in names for name in metrics_in(found)}


def test_every_rule_is_evaluated_without_an_error(prometheus: Prometheus) -> None:
    def evaluated() -> bool:
        groups = prometheus.get("rules")["groups"]
        return all(rule["health"] != "unknown" for group in groups for rule in group["rules"])

    eventually(evaluated, 30, 0.2)
    found = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
    assert len(found) == len(rules())
    assert [(rule["name"], rule.get("lastError")) for rule in found if rule["health"] != "ok"] == []


def test_every_expression_of_the_rules_is_answered(prometheus: Prometheus) -> None:
    for rule in rules():
        prometheus.ask(rule["expr"])


def test_every_panel_shows_something(prometheus: Prometheus) -> None:
    assert {title: expr for title, expr in shown() if not prometheus.ask(expr)} == {}


def test_a_stage_without_workers_is_seen_with_what_to_do(prometheus: Prometheus) -> None:
    found = eventually(lambda: prometheus.alerts("IssueTrackerStageWithoutWorkers"), 30, 0.2)
    assert {alert["labels"]["stage"] for alert in found} == set(Stage)
    said = {alert["labels"]["stage"]: alert["annotations"]["description"] for alert in found}
    assert all(f"the sensor {stage}_workers" in text for stage, text in said.items())
