"""What each server says of the pipeline at one moment, asked one server at a time. All raise `Unavailable`."""

from collections.abc import Mapping

import msgspec

from issuetracker_dagster.flow.dlq_index import DLQ_GROUP
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.overview import BuffersView, BufferView, DeadLettersView, RulesView
from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.readings import Readings
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.ports.locks import Heartbeat
from issuetracker_dagster.wiring.buffering import buffer_health
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import RELAY

_HOUR_MS, _TEN_MINUTES_MS = 3_600_000, 600_000
_COMMONEST = 5


class RedisFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Redis' answer. `beats` are the latest of each slot, `now_ms` is Redis' own time."""

    now_ms: int
    depths: Mapping[Stage, QueueDepth]
    beats: Mapping[Stage, tuple[Heartbeat, ...]]
    readings: Readings
    frontier: int
    retries: int
    relay_silent_ms: int | None
    buffers: BuffersView


class KafkaFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Kafka's answer. A topic that doesn't exist yet is left out."""

    unread: Mapping[Topic, int]


class SqlFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The database's answer; `rules` is None before the first snapshot."""

    dead_letters: DeadLettersView
    rules: RulesView | None


def redis_figures(wiring: Wiring) -> RedisFigures:
    """Depths, workers, counters, buffers and backlogs."""
    now_ms = wiring.heartbeats.now_ms()
    relayed = [beat.at_ms for beat in wiring.heartbeats.alive(RELAY)]
    return RedisFigures(
        now_ms=now_ms,
        depths={stage: wiring.queue(stage).depth() for stage in QUEUED_STAGES},
        beats={stage: tuple(wiring.heartbeats.alive(stage.value)) for stage in Stage},
        readings=wiring.metric_store.read(),
        frontier=wiring.frontier.size(),
        retries=wiring.retry_set.size(),
        relay_silent_ms=max(0, now_ms - max(relayed)) if relayed else None,
        buffers=_buffers(wiring),
    )


def _buffers(wiring: Wiring) -> BuffersView:
    found = buffer_health(wiring)
    return BuffersView(
        buffering=found[0].switch_is_on,
        drain_run_silent_ms=found[0].silent_ms,
        topics=tuple(
            BufferView(
                topic=health.topic.value,
                waiting=health.state.waiting,
                draining=health.state.draining,
                outbox=health.state.outbox,
                oldest_age_ms=health.oldest_age_ms,
                paused=health.state.paused,
            )
            for health in found
        ),
    )


def kafka_figures(wiring: Wiring) -> KafkaFigures:
    """Unread messages of every topic that somebody of ours reads."""
    unread, letters = dict(wiring.lags()), wiring.lag_of(DLQ_GROUP, Topic.DLQ)
    return KafkaFigures(unread=unread if letters is None else {**unread, Topic.DLQ: letters})


def sql_figures(wiring: Wiring) -> SqlFigures:
    """Dead letters and the rules in force."""
    index, now_ms = wiring.stores.dead_letters, wiring.clock.now_ms()
    last_hour = index.tally(LetterFilter(since_ms=now_ms - _HOUR_MS))
    commonest = sorted(last_hour.items(), key=lambda item: -item[1])[:_COMMONEST]
    snapshot = wiring.stores.rule_snapshots.latest()
    return SqlFigures(
        dead_letters=DeadLettersView(
            open=index.count(LetterFilter()),
            last_10_min=index.count(LetterFilter(since_ms=now_ms - _TEN_MINUTES_MS, states=())),
            last_hour=sum(last_hour.values()),
            commonest={f"{stage}/{reason or 'no reason'}": count for (stage, reason), count in commonest},
        ),
        rules=None
        if snapshot is None
        else RulesView(
            version=snapshot.version,
            rules=len(snapshot.rules),
            refused=len(snapshot.refused),
            checked_age_ms=max(0, now_ms - snapshot.checked_ms),
        ),
    )
