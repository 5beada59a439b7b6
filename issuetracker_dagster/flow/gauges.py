"""The figures of the moment under the names of their metrics, out of an overview of the pipeline."""

from collections.abc import Iterator
from typing import NamedTuple

from issuetracker_dagster.flow.dlq_index import DLQ_GROUP
from issuetracker_dagster.model.metrics import MetricName
from issuetracker_dagster.model.overview import BuffersView, Overview, StageView
from issuetracker_dagster.model.priority import priority_from_label
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, QUEUED_STAGES, Stage, Topic


class Gauge(NamedTuple):
    """One figure; its labels in the order of `METRICS`."""

    name: MetricName
    labels: tuple[str, ...]
    value: float


def gauges(overview: Overview) -> list[Gauge]:
    """Every gauge that can be told: those of a server that is out are missing, which a graph shows as a gap."""
    found = [Gauge("issuetracker_up", (server.name,), float(server.up)) for server in overview.servers]
    for stage in overview.stages:
        found += _of_stage(stage)
    if overview.buffers is not None:
        found += _of_buffers(overview.buffers)
    singles: list[tuple[MetricName, float | None]] = [
        ("issuetracker_retry_backlog", overview.retries),
        ("issuetracker_frontier_jobs", overview.frontier),
        ("issuetracker_dlq_open", overview.dead_letters.open if overview.dead_letters else None),
        ("issuetracker_rules_age_seconds", overview.rules.checked_age_ms / 1000 if overview.rules else None),
    ]
    found += [Gauge(name, (), value) for name, value in singles if value is not None]
    if overview.not_indexed is not None:
        found.append(Gauge("issuetracker_consumer_lag", (Topic.DLQ.value, DLQ_GROUP), overview.not_indexed))
    return found


def _of_stage(view: StageView) -> Iterator[Gauge]:
    stage = Stage(view.stage)
    facts = FACTS[stage]
    for band in view.bands:
        if band.ready is not None and stage in QUEUED_STAGES:
            age_s = (band.oldest_age_ms or 0) / 1000
            yield Gauge("issuetracker_queue_depth", (view.stage, band.band), band.ready)
            yield Gauge("issuetracker_queue_oldest_age_seconds", (view.stage, band.band), age_s)
        if band.unread is not None:
            topic = CRAWL_TOPICS[priority_from_label(band.band)].value
            yield Gauge("issuetracker_consumer_lag", (topic, facts.group), band.unread)
    if view.unread is not None and stage in QUEUED_STAGES:
        yield Gauge("issuetracker_consumer_lag", (facts.inputs[0].value, facts.group), view.unread)
    counts: list[tuple[MetricName, int | None]] = [
        ("issuetracker_queue_leased", view.leased),
        ("issuetracker_queue_delayed", view.delayed),
        ("issuetracker_queue_outbox", view.outbox),
        ("issuetracker_workers_alive", view.workers.alive),
        ("issuetracker_workers_wanted", view.workers.wanted),
    ]
    yield from (Gauge(name, (view.stage,), count) for name, count in counts if count is not None)


def _of_buffers(view: BuffersView) -> Iterator[Gauge]:
    labels = {topic.value: priority.label for priority, topic in CRAWL_TOPICS.items()}
    yield Gauge("issuetracker_buffering", (), float(view.buffering))
    for buffer in view.topics:
        label = labels[buffer.topic]
        yield Gauge("issuetracker_buffer_backlog", (label,), buffer.waiting + buffer.draining)
        yield Gauge("issuetracker_buffer_oldest_age_seconds", (label,), buffer.oldest_age_ms / 1000)
