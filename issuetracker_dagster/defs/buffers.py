"""The buffers before Kafka in the eyes of an operator: what is observed of them, and their checks."""

from collections.abc import Callable, Iterable, Iterator

import dagster as dg

from issuetracker_dagster.defs.assets import BUFFERED, buffer_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level
from issuetracker_dagster.wiring.buffering import DRAINER_SILENT_AFTER_MS, BufferHealth, buffer_health
from issuetracker_dagster.wiring.parts import Wiring

AssetEvent = dg.AssetObservation | dg.AssetCheckEvaluation


def buffer_observations(found: Iterable[BufferHealth]) -> Iterator[dg.AssetObservation]:
    """The figures of each buffer, as runless events."""
    for health in found:
        yield dg.AssetObservation(buffer_key(health.topic), metadata=_figures(health))


def _figures(health: BufferHealth) -> dict[str, int | float | bool]:
    return {
        "waiting": health.state.waiting,
        "draining": health.state.draining,
        "outbox": health.state.outbox,
        "oldest_age_s": health.oldest_age_ms / 1000,
        "paused": health.state.paused,
        "buffering": health.switch_is_on,
    }


def judge_backlog(health: BufferHealth) -> dg.AssetCheckResult:
    """Whether the buffer has room left."""
    backlog, most = health.state.backlog, health.max_len
    level = health.full_limits.level(backlog / most) if most else Level.WELL
    said = f"{backlog} jobs wait; " + (f"there is room for {most}" if most else "there is no limit")
    if level is not Level.WELL:
        said += (
            ", and that is more than CHECK_BUFFER_WARN or CHECK_BUFFER_ERROR allows. When it is full, the oldest go to "
            "the DLQ: PUBLISHER_REDIS_BUFFER_MAX_LEN makes room, and more workers of fetch work it off"
        )
    return result(buffer_key(health.topic), "backlog", level, said, _figures(health))


def judge_dwell(health: BufferHealth) -> dg.AssetCheckResult:
    """Whether jobs don't wait in the buffer for too long."""
    level = health.age_limits.level(health.oldest_age_ms // 1000 * 1000)
    said = f"the first in line has waited {about_duration(health.oldest_age_ms)}"
    if level is not Level.WELL:
        said += (
            ", longer than CHECK_AGE_WARN or CHECK_AGE_ERROR allows. Jobs leave the buffer while Kafka has fewer than "
            f"PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG unread in {health.topic.value}: `issuetracker top` shows whether "
            "fetch keeps up and whether this buffer is paused, the newest drain_backlog run what it does"
        )
    return result(buffer_key(health.topic), "dwell", level, said, {"oldest_age_s": health.oldest_age_ms // 1000})


def judge_drained(health: BufferHealth) -> dg.AssetCheckResult:
    """Whether somebody moves to Kafka what is put aside."""
    backlog = health.state.backlog
    stranded = health.drainer_is_silent and (health.switch_is_on or backlog > 0)
    return dg.AssetCheckResult(
        passed=not stranded,
        severity=dg.AssetCheckSeverity.ERROR,
        asset_key=buffer_key(health.topic),
        check_name="drained",
        description=_why_stranded(health) if stranded else _how_drained(health),
        metadata={"backlog": backlog, "buffering": health.switch_is_on},
    )


def _why_stranded(health: BufferHealth) -> str:
    silent = f"no drain run has shown itself {_for_how_long(health)}"
    if health.switch_is_on:
        return (
            f"jobs are put aside and {silent}. The ticks of the schedule drain_backlog and its newest run say why; "
            "launching the job drain_backlog drains at once, switching the schedule off sends jobs straight to Kafka"
        )
    return (
        f"jobs go straight to Kafka, {health.state.backlog} jobs are left and {silent}. While the schedule "
        "drain_backlog is off, the sensor retry_relay starts one that empties the buffer; the ticks of whichever is on "
        "say why none works. Launching the job drain_backlog drains at once"
    )


def _for_how_long(health: BufferHealth) -> str:
    return "yet" if health.silent_ms is None else f"for {about_duration(health.silent_ms)}"


def _how_drained(health: BufferHealth) -> str:
    if not health.switch_is_on and not health.state.backlog:
        return "buffering is off and nothing is left"
    within = about_duration(DRAINER_SILENT_AFTER_MS)
    return f"a drain run has shown itself within {within}; {health.state.backlog} jobs wait"


JUDGES: dict[str, Callable[[BufferHealth], dg.AssetCheckResult]] = {
    "backlog": judge_backlog,
    "dwell": judge_dwell,
    "drained": judge_drained,
}


def buffer_checks() -> list[dg.AssetChecksDefinition]:
    """All checks of both buffers."""
    return [_check(buffer_key(topic), name) for topic in BUFFERED for name in JUDGES]


def _check(key: dg.AssetKey, name: str) -> dg.AssetChecksDefinition:
    judge = JUDGES[name]

    @dg.asset_check(asset=key, name=name, description=judge.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return next(judge(health) for health in buffer_health(wiring) if buffer_key(health.topic) == key)

    return check


def look_at_buffers(wiring: Wiring) -> tuple[list[AssetEvent], str]:
    """What the health probe tells: observations, check results, and the backlog in words. Raises `Unavailable`."""
    found = buffer_health(wiring)
    results = [judge(health) for health in found for judge in JUDGES.values()]
    events: list[AssetEvent] = [*buffer_observations(found), *map(as_evaluation, results)]
    return events, f"{sum(health.state.backlog for health in found)} jobs buffered"
