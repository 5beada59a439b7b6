"""Every metric of the system: its name, kind, labels, unit and meaning. What isn't in `METRICS` doesn't exist.

Names follow Prometheus: `_total` counts up, `_seconds` is a duration, all else is a figure of the moment. What the
labels may say is bounded: `stage` is one of four, `priority` one of three, `topic`, `group` and `server` are ours, and
a metric with an `open` label has at most `MAX_SERIES` series.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

import msgspec

MetricName = Literal[
    "issuetracker_published_total", "issuetracker_buffered_total", "issuetracker_drained_total",
    "issuetracker_queue_pushes_total", "issuetracker_evicted_total", "issuetracker_claims_total",
    "issuetracker_acks_total", "issuetracker_acks_refused_total", "issuetracker_nacks_total",
    "issuetracker_releases_total", "issuetracker_leases_expired_total", "issuetracker_handled_total",
    "issuetracker_handler_faults_total", "issuetracker_dead_letters_total", "issuetracker_relayed_total",
    "issuetracker_redriven_total", "issuetracker_fetches_total", "issuetracker_trace_lines_dropped_total",
    "issuetracker_pop_latency_seconds", "issuetracker_handler_seconds", "issuetracker_publish_to_enriched_seconds",
    "issuetracker_drain_dwell_seconds",
    "issuetracker_up", "issuetracker_queue_depth", "issuetracker_queue_oldest_age_seconds",
    "issuetracker_queue_leased", "issuetracker_queue_delayed", "issuetracker_queue_outbox",
    "issuetracker_consumer_lag", "issuetracker_buffer_backlog", "issuetracker_buffer_oldest_age_seconds",
    "issuetracker_buffering", "issuetracker_retry_backlog", "issuetracker_frontier_jobs", "issuetracker_dlq_open",
    "issuetracker_workers_alive", "issuetracker_workers_wanted", "issuetracker_rules_age_seconds",
]  # fmt: skip

OTHER = "other"
"""What an open label says once a metric has all the series that it may have."""
COMES_AGAIN = ("deferred", "came_back", "kept")
"""Outcomes of `issuetracker_handled_total` with which nothing is decided: the message comes again and counts again."""
MAX_SERIES = 1_000
OPEN_LASTS_MS = 86_400_000
"""A metric with an open label starts anew after a day, so that those who came first don't keep their places."""


class Kind(StrEnum):
    """What a metric is to Prometheus."""

    COUNTER = "counter"
    HISTOGRAM = "histogram"
    GAUGE = "gauge"


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric. `bounds` are a histogram's upper bounds in seconds, without infinity; `open` names the label whose
    values come from outside."""

    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    bounds: tuple[float, ...] = ()
    open: str = ""


WAITS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
WORK = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


def _counter(unit: str, meaning: str, *labels: str, open: str = "") -> Metric:
    return Metric(kind=Kind.COUNTER, meaning=meaning, labels=labels, unit=unit, open=open)


def _times(bounds: tuple[float, ...], meaning: str, *labels: str) -> Metric:
    return Metric(kind=Kind.HISTOGRAM, meaning=meaning, labels=labels, unit="seconds", bounds=bounds)


def _gauge(unit: str, meaning: str, *labels: str) -> Metric:
    return Metric(kind=Kind.GAUGE, meaning=meaning, labels=labels, unit=unit)


METRICS: Mapping[MetricName, Metric] = {
    "issuetracker_published_total": _counter(
        "jobs", "crawl jobs published for the first time, into Kafka or the buffer before it", "priority"
    ),
    "issuetracker_buffered_total": _counter("jobs", "of these, put aside into the buffer", "priority"),
    "issuetracker_drained_total": _counter("jobs", "moved from the buffer to Kafka", "priority"),
    "issuetracker_queue_pushes_total": _counter(
        "messages", "pushed into a stage's queue: `added`, `known`, `promoted` or `refused` (full)", "stage", "outcome"
    ),
    "issuetracker_evicted_total": _counter("messages", "pushed out of a full queue, on their way to the DLQ", "stage"),
    "issuetracker_claims_total": _counter(
        "messages", "taken by a worker, from the queue or straight from Kafka: the share of each priority", "stage",
        "priority",
    ),
    "issuetracker_acks_total": _counter("messages", "acknowledged in a stage's queue", "stage"),
    "issuetracker_acks_refused_total": _counter(
        "messages", "acknowledged too late: another worker holds them by now", "stage"
    ),
    "issuetracker_nacks_total": _counter("messages", "given back to the queue for later", "stage"),
    "issuetracker_releases_total": _counter("messages", "given back to the queue at their old place", "stage"),
    "issuetracker_leases_expired_total": _counter(
        "messages", "claimed again since the worker before gave no answer within its lease", "stage"
    ),
    "issuetracker_handled_total": _counter(
        "messages",
        "settled, by outcome: `forwarded`, `retried`, `recrawled`, `dead_lettered`, `deferred` (host not due), "
        "`came_back` (URL busy, server out), `kept` (nothing could be written), or the word with which it ended here",
        "stage", "priority", "outcome",
    ),
    "issuetracker_handler_faults_total": _counter(
        "messages", "whose handler raised what nobody foresaw (`bug`) or gave no answer (`hung`)", "stage", "fault"
    ),
    "issuetracker_dead_letters_total": _counter(
        "messages", "sent to the DLQ by a stage, with the reason on the letter", "stage", "reason", open="reason"
    ),
    "issuetracker_relayed_total": _counter("messages", "due retries and recrawls sent back to Kafka", "topic"),
    "issuetracker_redriven_total": _counter("messages", "dead letters sent round again", "topic"),
    "issuetracker_fetches_total": _counter(
        "fetches", "by what came of them: `fetched`, `unchanged`, a dead letter's reason or `failed`", "host",
        "outcome", open="host",
    ),
    "issuetracker_trace_lines_dropped_total": _counter(
        "lines", "steps of messages that the database couldn't take in time: `trace` shows gaps"
    ),
    "issuetracker_pop_latency_seconds": _times(
        WAITS, "from a message's arrival in the queue (read directly: in Kafka) to its claim", "stage", "priority"
    ),
    "issuetracker_handler_seconds": _times(WORK, "in the stage's handler, without settling", "stage"),
    "issuetracker_publish_to_enriched_seconds": _times(
        WAITS, "from the first publish of a crawl job to the end of its enrichment", "priority"
    ),
    "issuetracker_drain_dwell_seconds": _times(WAITS, "in the buffer, until the broker had the job", "priority"),
    "issuetracker_up": _gauge("0 or 1", "whether `kafka`, `redis` or `database` answers the exporter", "server"),
    "issuetracker_queue_depth": _gauge("messages", "ready in a stage's queue", "stage", "priority"),
    "issuetracker_queue_oldest_age_seconds": _gauge(
        "seconds", "how long the oldest ready message has waited", "stage", "priority"
    ),
    "issuetracker_queue_leased": _gauge("messages", "in the hands of workers", "stage"),
    "issuetracker_queue_delayed": _gauge("messages", "given back and waiting for their time", "stage"),
    "issuetracker_queue_outbox": _gauge("messages", "given up and on their way to the DLQ", "stage"),
    "issuetracker_consumer_lag": _gauge("messages", "unread in Kafka", "topic", "group"),
    "issuetracker_buffer_backlog": _gauge("jobs", "waiting in the buffer before Kafka", "priority"),
    "issuetracker_buffer_oldest_age_seconds": _gauge("seconds", "how long the first in line has waited", "priority"),
    "issuetracker_buffering": _gauge("0 or 1", "whether publishers put jobs aside"),
    "issuetracker_retry_backlog": _gauge("messages", "waiting for their next attempt"),
    "issuetracker_frontier_jobs": _gauge("jobs", "waiting for their host to be due"),
    "issuetracker_dlq_open": _gauge("messages", "dead letters that nobody has redriven or purged"),
    "issuetracker_workers_alive": _gauge("shifts", "showing signs of life", "stage"),
    "issuetracker_workers_wanted": _gauge("shifts", "by the settings: `*_SLOTS`, 0 for a stage set off", "stage"),
    "issuetracker_rules_age_seconds": _gauge("seconds", "since the rule snapshot was last compared with the rules"),
}  # fmt: skip
