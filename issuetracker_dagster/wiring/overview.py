"""One overview out of what each server said; pure but for the settings."""

from collections.abc import Mapping
from typing import NamedTuple

from issuetracker_dagster.model.metrics import COMES_AGAIN, MetricName
from issuetracker_dagster.model.overview import BandView, Overview, ServerView, StageView, WorkersView
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import BandDepth
from issuetracker_dagster.model.readings import Readings
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic
from issuetracker_dagster.ports.locks import Heartbeat
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.figures import KafkaFigures, RedisFigures, SqlFigures

_CLAIMS: MetricName = "issuetracker_claims_total"
_HANDLED: MetricName = "issuetracker_handled_total"


class Rates(NamedTuple):
    """What was counted in so many seconds, and what heartbeats said before them."""

    grown: Readings
    seconds: float
    beats: Mapping[Stage, tuple[Heartbeat, ...]]

    def per_s(self, name: MetricName, **labels: str) -> float:
        """A counter's growth a second."""
        return round(self.grown.total(name, **labels) / self.seconds, 2)


def put_together(
    settings: Settings,
    at_ms: int,
    servers: tuple[ServerView, ...],
    *,
    redis: RedisFigures | None,
    kafka: KafkaFigures | None,
    sql: SqlFigures | None,
    rates: Rates | None,
) -> Overview:
    """The overview; what a server that is None would have said stays None."""
    unread = kafka.unread if kafka else {}
    return Overview(
        at_ms=at_ms,
        servers=servers,
        stages=tuple(_stage(stage, settings, redis, kafka, rates) for stage in Stage),
        frontier=redis.frontier if redis else None,
        retries=redis.retries if redis else None,
        relay_silent_ms=redis.relay_silent_ms if redis else None,
        buffers=redis.buffers if redis else None,
        dead_letters=sql.dead_letters if sql else None,
        not_indexed=unread.get(Topic.DLQ),
        rules=sql.rules if sql else None,
    )


def _stage(
    stage: Stage, settings: Settings, redis: RedisFigures | None, kafka: KafkaFigures | None, rates: Rates | None
) -> StageView:
    depth = redis.depths.get(stage) if redis else None
    topics = [kafka.unread[topic] for topic in FACTS[stage].inputs if topic in kafka.unread] if kafka else []
    bands = []
    for priority in Priority:
        waiting = depth.bands.get(priority, BandDepth()) if depth else None
        topic = CRAWL_TOPICS[priority] if stage is Stage.FETCH else None
        bands.append(
            BandView(
                band=priority.label,
                ready=waiting.ready if waiting else None,
                oldest_age_ms=waiting.oldest_age_ms if waiting and waiting.ready else None,
                unread=kafka.unread.get(topic) if kafka and topic else None,
                claims_per_s=rates.per_s(_CLAIMS, stage=stage, priority=priority.label) if rates else None,
            )
        )
    return StageView(
        stage=stage.value,
        workers=_workers(stage, settings, redis, rates.beats[stage] if rates else ()),
        bands=tuple(bands),
        leased=depth.leased if depth else None,
        delayed=depth.delayed if depth else None,
        outbox=depth.outbox if depth else None,
        unread=sum(topics) if topics else None,
        handled_per_s=_settled_per_s(rates, stage) if rates else None,
        dead_per_s=rates.per_s(_HANDLED, stage=stage, outcome="dead_lettered") if rates else None,
    )


def _settled_per_s(rates: Rates, stage: Stage) -> float:
    again = sum(rates.per_s(_HANDLED, stage=stage, outcome=outcome) for outcome in COMES_AGAIN)
    return round(rates.per_s(_HANDLED, stage=stage) - again, 2)


def _workers(
    stage: Stage, settings: Settings, redis: RedisFigures | None, before: tuple[Heartbeat, ...]
) -> WorkersView:
    wanted = 0 if settings.stage_enabled(stage.value) is False else settings.slots(stage.value)
    if redis is None:
        return WorkersView(wanted=wanted)
    dead_after_ms = settings.shift.worker_dead_after
    living = [beat for beat in redis.beats[stage] if redis.now_ms - beat.at_ms <= dead_after_ms]
    paused = {beat.run_id: _paused(beat) for beat in before}
    return WorkersView(
        alive=len(living),
        waiting=sum(_paused(beat) > paused.get(beat.run_id, _paused(beat)) for beat in living),
        wanted=wanted,
        modes=tuple(sorted({mode for beat in living if (mode := beat.info.get("mode", ""))})),
    )


def _paused(beat: Heartbeat) -> int:
    """How often its slots have met a server that was out."""
    text = beat.info.get("paused", "")
    return int(text) if text.isascii() and text.isdigit() else 0
