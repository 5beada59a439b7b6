"""Our metrics in the form of `prometheus-client`, gathered anew when somebody scrapes."""

import threading
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from issuetracker_dagster.flow.gauges import Gauge, gauges
from issuetracker_dagster.model.metrics import METRICS, Kind, MetricName
from issuetracker_dagster.model.readings import Histogram, Readings, histogram_of
from issuetracker_dagster.wiring.lookout import Asked, Lookout
from issuetracker_dagster.wiring.parts import Wiring

WITHIN_S = 4.0
"""How long a scrape waits for servers: Prometheus gives up after ten seconds."""
FRESH_S = 3.0
"""A scrape so soon after another one is answered from that: however many ask, the servers are asked no more often."""


class PipelineCollector(Collector):
    """Asks the servers. What one that is out would have told is missing, and `issuetracker_up` says so. Thread-safe."""

    def __init__(self, wiring: Wiring, *, within_s: float = WITHIN_S) -> None:
        self._lookout = Lookout(wiring)
        self._stored = Asked("redis", lambda: wiring.metric_store.read())
        self._within_s = within_s
        self._lock = threading.Lock()
        self._gathered: list[Family] = []
        self._gathered_at = float("-inf")

    def collect(self) -> Iterable[Family]:
        with self._lock:
            if time.monotonic() - self._gathered_at > FRESH_S:
                self._gathered = self._gather()
                self._gathered_at = time.monotonic()
            return self._gathered

    def describe(self) -> Iterable[Family]:
        """Nothing is asked while the collector is registered."""
        return [_family(name) for name in METRICS]

    def _gather(self) -> list[Family]:
        until = time.monotonic() + self._within_s
        self._stored.ask()
        now = gauges(self._lookout.look(self._within_s))
        self._stored.wait(until)
        stored, _ = self._stored.latest(self._within_s)
        return [*_of_gauges(now), *(_of_readings(stored) if stored else ())]


def _family(name: MetricName) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
    metric = METRICS[name]
    meaning = metric.meaning[0].upper() + metric.meaning[1:]
    match metric.kind:
        case Kind.COUNTER:
            return CounterMetricFamily(name, meaning, labels=metric.labels)
        case Kind.HISTOGRAM:
            return HistogramMetricFamily(name, meaning, labels=metric.labels)
        case Kind.GAUGE:
            return GaugeMetricFamily(name, meaning, labels=metric.labels)


def _of_gauges(found: Sequence[Gauge]) -> list[Family]:
    families: dict[MetricName, GaugeMetricFamily] = {}
    for gauge in found:
        family = families.get(gauge.name)
        if family is None:
            made = _family(gauge.name)
            assert isinstance(made, GaugeMetricFamily)  # noqa: S101 - `Gauge` names gauges only
            family = families[gauge.name] = made
        family.add_metric(gauge.labels, gauge.value)
    return list(families.values())


def _of_readings(readings: Readings) -> list[Family]:
    families: list[Family] = []
    for name, by_labels in readings.grouped().items():
        family = _family(name)
        for labels, parts in sorted(by_labels.items()):
            if isinstance(family, HistogramMetricFamily):
                timed = histogram_of(name, parts.items())
                family.add_metric(labels, _cumulative(timed), timed.sum_s)
            else:
                family.add_metric(labels, parts[""])
        families.append(family)
    return families


def _cumulative(timed: Histogram) -> list[tuple[str, float]]:
    bounds = sorted(timed.buckets)
    return list(zip(map(floatToGoString, bounds), accumulate(timed.buckets[bound] for bound in bounds), strict=True))
