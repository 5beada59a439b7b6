"""Checks on the DLQ: whether more dies than should, in all and of a stage, and who pauses for it. The text says what to
do about it."""

from collections.abc import Mapping

import dagster as dg

from issuetracker_dagster.defs.assets import topic_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP
from issuetracker_dagster.flow.shift import PAUSED
from issuetracker_dagster.model.dlq_health import HOUR_MS, DlqHealth
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.limits import Level, Limits
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.settings.groups import CheckSettings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.workers import modes_of_workers

DLQ = topic_key(Topic.DLQ)
RATE, SHARE, PAUSES = "rate", "share", "pauses"
SHARE_FLOOR = 20
"""Letters an hour below which no share is judged: three of ten say nothing."""
UNREADABLE = frozenset({"malformed", "no_identity"})
"""Reasons of letters that no second try can help."""
_NAMED = 3
_TOPICS = tuple(topic.value for topic in Topic if topic is not Topic.DLQ)


def judge_rate(health: DlqHealth, check: CheckSettings) -> dg.AssetCheckResult:
    """Whether no more than a few messages died within the last hour."""
    limits = Limits(check.dead_warn, check.dead_error)
    level = limits.level(health.total)
    said = f"{health.total - health.unindexed} letters of the last hour are open"
    if health.unindexed:
        said += (
            f", and {health.unindexed} on the topic aren't in the index yet, which count as new whatever their age: if "
            "they stay, see the ticks of the sensor dlq_index"
        )
    if level is not Level.WELL:
        most = limits.error if level is Level.ERROR else limits.warn
        said += f". That is more than {most:.0f}. {_advice(health)}"
    by_stage = {stage.value: health.of_stage(stage) for stage in Stage}
    return result(DLQ, RATE, level, said, {"letters": health.total, "unindexed": health.unindexed, **by_stage})


def judge_share(health: DlqHealth, check: CheckSettings) -> dg.AssetCheckResult:
    """Whether every stage gives up only a small share of what it handles."""
    limits = Limits(check.dead_share_warn, check.dead_share_error)
    levels = {stage: limits.level(health.share(stage)) for stage in Stage if health.of_stage(stage) >= SHARE_FLOOR}
    bad = [stage for stage, level in levels.items() if level is not Level.WELL]
    said = f"no stage gave up more than {limits.warn:.0%} of what it handled in the last hour"
    if bad:
        told = "; ".join(
            f"{stage.value} gave up {health.of_stage(stage)} of about {health.handled(stage)} messages "
            f"({health.share(stage):.0%}) in the last hour"
            for stage in bad
        )
        said = f"{told}. {_advice(health)}"
    figures = {f"{stage.value}_share": round(health.share(stage), 4) for stage in Stage}
    return result(DLQ, SHARE, max(levels.values(), default=Level.WELL), said, figures)


def judge_pauses(paused: Mapping[Stage, int]) -> dg.AssetCheckResult:
    """Whether no stage pauses for giving up nearly everything; its messages wait meanwhile."""
    told = "; ".join(
        f"{count} worker runs of {stage.value} pause, since nearly all of their latest messages died "
        f"(DLQ_PAUSE_SHARE): `issuetracker dlq list --stage {stage.value} --newer-than 1h` shows why. They try "
        "one now and then, and go on by themselves once one comes through"
        for stage, count in paused.items()
        if count
    )
    level = Level.ERROR if told else Level.WELL
    figures = {stage.value: count for stage, count in paused.items()}
    return result(DLQ, PAUSES, level, told or "no worker run pauses", figures)


def _advice(health: DlqHealth) -> str:
    most = health.most(_NAMED)
    if not most:
        return "Once they are indexed, `issuetracker dlq list` shows why"
    named = ", ".join(f"{count} x {reason or 'without a reason'} in {stage}" for stage, reason, count in most)
    stage, reason, _ = most[0]
    chosen = f"--stage {stage} --newer-than 1h" + (f" --reason {reason}" if reason.isidentifier() else "")
    if reason in UNREADABLE:
        way_out = (
            "They stay unreadable however often they go round: find out who writes them by the topic, key and time "
            f"that `dlq show` tells; `issuetracker dlq purge {chosen}` then clears them away"
        )
    else:
        way_out = (
            f"Switching {stage}_workers off keeps further messages from dying; once the cause is gone, "
            f"`issuetracker dlq redrive {chosen}` sends them round again; `dlq purge` is for those that aren't worth it"
        )
    return f"Most: {named}. `issuetracker dlq list {chosen}` shows them, `dlq show ID` one of them. {way_out}"


JUDGES = {RATE: judge_rate, SHARE: judge_share}


def dlq_health(wiring: Wiring) -> DlqHealth:
    """How the DLQ stands now; raises `Unavailable`, `LagUnknown`."""
    since_ms = wiring.clock.now_ms() - HOUR_MS
    return DlqHealth(
        letters=wiring.stores.dead_letters.tally(LetterFilter(since_ms=since_ms)),
        arrived=wiring.arrivals.since(_TOPICS, since_ms),
        unindexed=wiring.lag_of(DLQ_GROUP, Topic.DLQ) or 0,
    )


def paused_runs(wiring: Wiring) -> Mapping[Stage, int]:
    """Worker runs of each stage that claim next to nothing, since nearly all of their messages died. Raises
    `Unavailable`."""
    return {stage: modes_of_workers(wiring, stage)[PAUSED] for stage in QUEUED_STAGES}


def dlq_checks() -> list[dg.AssetChecksDefinition]:
    """All of them."""
    return [*map(_check, JUDGES), pauses_check]


def _check(name: str) -> dg.AssetChecksDefinition:
    judge = JUDGES[name]

    @dg.asset_check(asset=DLQ, name=name, description=judge.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge(dlq_health(wiring), wiring.settings.check)

    return check


@dg.asset_check(asset=DLQ, name=PAUSES, description=judge_pauses.__doc__)
def pauses_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return judge_pauses(paused_runs(wiring))


def look_at_dlq(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about dead letters."""
    health = dlq_health(wiring)
    figures = {"letters_last_hour": health.total, "unindexed": health.unindexed}
    judged = [as_evaluation(judge(health, wiring.settings.check)) for judge in JUDGES.values()]
    return [dg.AssetObservation(DLQ, metadata=figures), *judged], f"{health.total} open letters of the last hour"


def look_at_pauses(wiring: Wiring) -> tuple[list[dg.AssetCheckEvaluation], str]:
    """What the health probe tells about who pauses; without Redis nobody knows. Raises `Unavailable`."""
    paused = paused_runs(wiring)
    return [as_evaluation(judge_pauses(paused))], f"{sum(paused.values())} worker runs pause"
