"""`issuetracker metrics`: what Prometheus gets, while everything runs and while something is out."""

import signal
import socket
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from issuetracker_dagster.cli.metrics_families import PipelineCollector
from issuetracker_dagster.model.metrics import METRICS, MetricName
from issuetracker_dagster.model.readings import Batch, Cell
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.lookout import Lookout
from issuetracker_dagster.wiring.parts import Wiring
from tests.cli.served import Served
from tests.cli.servers import NOBODY, Operator, at_servers, content_entry
from tests.cli.terminal import Terminal

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """Each line by its name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float | None:
    return found.get((name, frozenset(labels.items())))


@pytest.fixture
def at(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str) -> Iterator[Operator]:
    made = at_servers(terminal, monkeypatch, clean_valkey_url)
    yield made
    made.wiring.close()


@pytest.mark.services
def test_counters_durations_and_gauges_are_shown_under_their_names(at: Operator) -> None:
    name: MetricName = "issuetracker_handler_seconds"
    amounts = {
        Cell("issuetracker_claims_total", ("parser", "high")): 7,
        Cell("issuetracker_trace_lines_dropped_total"): 2,
        Cell(name, ("parser",), "0.1"): 3,
        Cell(name, ("parser",), "+Inf"): 1,
        Cell(name, ("parser",), "sum"): 400_250_000,
        Cell("issuetracker_fetches_total", ('a"\\b.com', "fetched")): 1,
    }
    at.wiring.metric_store.add(Batch("test", 1, amounts))
    at.wiring.queue(Stage.ENRICH).push([content_entry("r", "https://x.com/1")])
    text = at.terminal.does("metrics", "--once")
    found = samples(text)
    assert value(found, "issuetracker_claims_total", stage="parser", priority="high") == 7
    assert value(found, "issuetracker_trace_lines_dropped_total") == 2
    assert value(found, "issuetracker_fetches_total", host='a"\\b.com', outcome="fetched") == 1
    assert [value(found, f"{name}_bucket", stage="parser", le=le) for le in ("0.05", "0.1", "300.0", "+Inf")] == [
        0, 3, 3, 4,
    ]  # fmt: skip
    assert value(found, f"{name}_count", stage="parser") == 4
    assert value(found, f"{name}_sum", stage="parser") == 400.25
    assert value(found, "issuetracker_queue_depth", stage="enrich", priority="normal") == 1
    assert value(found, "issuetracker_queue_depth", stage="enrich", priority="high") == 0
    assert value(found, "issuetracker_workers_wanted", stage="fetch") == 1
    assert value(found, "issuetracker_workers_alive", stage="fetch") == 0
    assert value(found, "issuetracker_dlq_open") == 0
    assert f"# TYPE {name} histogram" in text
    assert "# TYPE issuetracker_claims_total counter" in text


@pytest.mark.services
def test_a_server_that_is_out_hides_nothing_of_the_others(at: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    found = samples(at.terminal.does("metrics", "--once"))
    up = {server: value(found, "issuetracker_up", server=server) for server in ("kafka", "redis", "database")}
    assert up == {"kafka": 0, "redis": 1, "database": 1}
    assert value(found, "issuetracker_retry_backlog") == 0
    assert not any(name == "issuetracker_consumer_lag" for name, _ in found)
    monkeypatch.setenv("REDIS_URL", f"redis://{NOBODY}/0")
    found = samples(at.terminal.does("metrics", "--once"))
    assert value(found, "issuetracker_up", server="redis") == 0
    assert value(found, "issuetracker_retry_backlog") is None
    assert value(found, "issuetracker_dlq_open") == 0


@pytest.mark.services
def test_everything_that_can_be_told_has_the_labels_that_its_metric_has(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> None:
    at = at_servers(terminal, monkeypatch, clean_valkey_url, kafka_bootstrap)
    at.wiring.ready()
    terminal.does("rules", "refresh")
    shown = {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(terminal.does("metrics", "--once"))
        for sample in family.samples
    }
    at.wiring.close()
    gauges = {name: set(metric.labels) for name, metric in METRICS.items() if metric.kind == "gauge"}
    assert shown == gauges


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(terminal: Terminal, number: signal.Signals) -> None:
    served = Served(terminal.folder, "--addr", "127.0.0.1:0")
    try:
        with urllib.request.urlopen(served.url(), timeout=60) as answer:  # noqa: S310 - our own loopback server
            found = samples(answer.read().decode())
        assert value(found, "issuetracker_up", server="database") == 1
        assert served.ends_after(number) == 0
    finally:
        served.kill()


def test_a_port_that_is_taken_is_named_with_what_helps(terminal: Terminal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = terminal.fails("metrics", "--addr", f"127.0.0.1:{port}")
    assert f"port {port} of 127.0.0.1 is taken" in said
    assert "--addr" in said


@pytest.mark.parametrize("where", ["0.0.0.0:9464", "192.0.2.1:9464", "[::]:9464", "example.com:9464"])
def test_an_address_that_others_reach_has_to_be_meant(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    assert "--exposed" in terminal.fails("metrics", "--addr", where)
    monkeypatch.setenv("METRICS_ADDR", where)
    assert "METRICS_ADDR" in terminal.fails("metrics")


@pytest.mark.parametrize("wrong", ["9464", "127.0.0.1", "::1:9464", "127.0.0.1:http", ":9464", "127.0.0.1:70000"])
def test_what_is_no_address_is_refused_with_an_example(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    assert "127.0.0.1:9464 or [::1]:9464, or off" in terminal.fails("metrics", "--addr", wrong)
    monkeypatch.setenv("METRICS_ADDR", wrong)
    said = terminal.fails("metrics", "--once")
    assert "METRICS_ADDR" in said
    assert "127.0.0.1:9464" in said


def test_without_an_address_it_says_what_to_do(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METRICS_ADDR", "off")
    assert "METRICS_ADDR is off" in terminal.fails("metrics")


def test_servers_are_asked_once_however_many_scrape(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []
    look = Lookout.look

    def counted(self: Lookout, within_s: float):  # type: ignore[no-untyped-def]
        looks.append(within_s)
        return look(self, within_s)

    monkeypatch.setattr(Lookout, "look", counted)
    collector = PipelineCollector(Wiring(Settings()))
    assert list(collector.describe())
    assert not looks
    assert list(collector.collect()) == list(collector.collect())
    assert len(looks) == 1
