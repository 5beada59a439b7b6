"""Checks on the DLQ: whether more dies than should, in all and of a stage, and who pauses for it. The text says what to
do about it."""

from collections.abc import Mapping

import dagster as dg

from issuetracker_dagster.defs.assets import topic_key
from issuetracker_dagster.defs.results import as_evaluation
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP
from issuetracker_dagster.flow.shift import PAUSED
from issuetracker_dagster.model.dlq_health import HOUR_MS, DlqHealth
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.workers import modes_of_workers

DLQ = topic_key(Topic.DLQ)
RATE_WARN, RATE_ERROR = 100, 1_000
"""Letters an hour of all stages. A crawl of the open web always has some dead links; hundreds have a cause."""
SHARE_WARN, SHARE_ERROR = 0.05, 0.25
"""Share of what a stage handled within an hour."""
SHARE_FLOOR = 20
"""Letters an hour below which no share is judged: three of ten say nothing."""
_NAMED = 3
_TOPICS = tuple(topic.value for topic in Topic if topic is not Topic.DLQ)


def judge_rate(health: DlqHealth) -> dg.AssetCheckResult:
    """Whether no more than a few messages died within the last hour."""
    said = f"{health.total} letters in the last hour; more than {RATE_WARN} would be too many"
    if health.unindexed:
        said += f". {health.unindexed} of them aren't indexed yet: if that stays, see the ticks of the sensor dlq_index"
    return dg.AssetCheckResult(
        passed=health.total <= RATE_WARN,
        severity=dg.AssetCheckSeverity.ERROR if health.total > RATE_ERROR else dg.AssetCheckSeverity.WARN,
        asset_key=DLQ,
        check_name="rate",
        description=said if health.total <= RATE_WARN else f"{said}. {_advice(health)}",
        metadata={
            "letters": health.total,
            "unindexed": health.unindexed,
            **{stage.value: health.of_stage(stage) for stage in Stage},
        },
    )


def judge_share(health: DlqHealth) -> dg.AssetCheckResult:
    """Whether every stage gives up only a small share of what it handles."""
    judged = [stage for stage in Stage if health.of_stage(stage) >= SHARE_FLOOR]
    bad = [stage for stage in judged if health.share(stage) > SHARE_WARN]
    told = "; ".join(
        f"{stage.value} gave up {health.of_stage(stage)} of about {health.handled(stage)} messages "
        f"({health.share(stage):.0%}) in the last hour"
        for stage in bad
    )
    return dg.AssetCheckResult(
        passed=not bad,
        severity=(
            dg.AssetCheckSeverity.ERROR
            if any(health.share(stage) > SHARE_ERROR for stage in bad)
            else dg.AssetCheckSeverity.WARN
        ),
        asset_key=DLQ,
        check_name="share",
        description=(
            f"{told}. {_advice(health)}"
            if bad
            else f"no stage gave up more than {SHARE_WARN:.0%} of what it handled in the last hour"
        ),
        metadata={f"{stage.value}_share": round(health.share(stage), 4) for stage in Stage},
    )


def judge_pauses(health: DlqHealth) -> dg.AssetCheckResult:
    """Whether no stage pauses for giving up nearly everything; its messages wait meanwhile."""
    told = "; ".join(
        f"{count} worker runs of {stage.value} pause, since nearly all of their latest messages died "
        f"(DLQ_PAUSE_SHARE): `issuetracker dlq list --stage {stage.value} --newer-than 1h` shows why. They try "
        "one now and then, and go on by themselves once one comes through"
        for stage, count in health.paused.items()
        if count
    )
    return dg.AssetCheckResult(
        passed=not told,
        severity=dg.AssetCheckSeverity.ERROR,
        asset_key=DLQ,
        check_name="pauses",
        description=told or "no worker run pauses",
        metadata={stage.value: count for stage, count in health.paused.items()},
    )


def _advice(health: DlqHealth) -> str:
    most = health.most(_NAMED)
    if not most:
        return "Once they are indexed, `issuetracker dlq list` shows why"
    named = ", ".join(f"{count} x {reason or 'without a reason'} in {stage}" for stage, reason, count in most)
    stage, reason, _ = most[0]
    chosen = f"--stage {stage} --newer-than 1h" + (f" --reason {reason}" if reason.isidentifier() else "")
    return (
        f"Most: {named}. `issuetracker dlq list {chosen}` shows them, `dlq show ID` one of them. Switching "
        f"{stage}_workers off keeps further messages from dying; once the cause is gone, "
        f"`issuetracker dlq redrive {chosen}` sends them round again"
    )


JUDGES = {"rate": judge_rate, "share": judge_share, "pauses": judge_pauses}


def dlq_health(wiring: Wiring) -> DlqHealth:
    """How the DLQ stands now; raises `Unavailable`, `LagUnknown`. Without Redis nothing is known of pauses."""
    since_ms = wiring.clock.now_ms() - HOUR_MS
    return DlqHealth(
        letters=wiring.stores.dead_letters.tally(since_ms),
        arrived=wiring.arrivals.since(_TOPICS, since_ms),
        unindexed=sum(wiring.lag.lag(DLQ_GROUP, [Topic.DLQ.value]).values()),
        paused=_paused(wiring),
    )


def _paused(wiring: Wiring) -> Mapping[Stage, int]:
    try:
        return {stage: modes_of_workers(wiring, stage)[PAUSED] for stage in QUEUED_STAGES}
    except Unavailable:
        return {}


def _check(name: str) -> dg.AssetChecksDefinition:
    judge = JUDGES[name]

    @dg.asset_check(asset=DLQ, name=name, description=judge.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge(dlq_health(wiring))

    return check


def dlq_checks() -> list[dg.AssetChecksDefinition]:
    """All of them."""
    return [_check(name) for name in JUDGES]


def look_at_dlq(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about the DLQ."""
    health = dlq_health(wiring)
    figures = {"letters_last_hour": health.total, "unindexed": health.unindexed}
    judged = [as_evaluation(judge(health)) for judge in JUDGES.values()]
    return [dg.AssetObservation(DLQ, metadata=figures), *judged], f"{health.total} letters in the last hour"
