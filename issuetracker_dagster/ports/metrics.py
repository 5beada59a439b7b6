"""Counters and histograms that all processes share. `model.metrics` names them all; `docs/metrics.md` is for people.

How the figures come about: the flow tells `flow.steps.Steps` what happens to messages; each process adds that up in
memory (`flow.meter.Meter`) and hands it over every few seconds and at its end. Processes come and go, so the totals are
kept here. Gauges aren't: `wiring.gauges` reads them from the servers when somebody asks.

How to use them: `issuetracker metrics` serves everything to Prometheus; in this program
`wiring.metric_store.read().total("issuetracker_claims_total", stage="parser", priority="high")`, rates by
`read().since(earlier)`, durations by `read().histogram("issuetracker_pop_latency_seconds", stage="parser")`.
"""

from typing import Protocol

from issuetracker_dagster.model.readings import Batch, Readings


class MetricStore(Protocol):
    """Totals over all processes. Raises `Unavailable`."""

    def add(self, batch: Batch) -> None:
        """Add a batch, all or nothing; the latest batch of a writer given again changes nothing, for an hour.

        Of a metric with an open label at most `MAX_SERIES` numbers are kept; what comes beyond them is added where
        `Cell.elsewhere` says. Such a metric starts anew after `OPEN_LASTS_MS`. A server without memory still takes it.
        """

    def read(self) -> Readings:
        """Everything added so far; what an older or newer version counted and this one doesn't know is left out."""
