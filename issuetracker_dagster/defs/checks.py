"""Checks on the stage queues. Run from the UI they look at once; the health probe reports the same without a run."""

from collections.abc import Callable, Iterable, Iterator

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import queue_key
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import RELAY_SILENT_AFTER_MS, relay_is_fresh

FULL_SHARE = 0.8
"""Share of `*_ZSET_MAX_SIZE` above which a queue counts as too full: evictions are near."""
OLD_SHARE = 0.5
"""Share of `*_ZSET_ENTRY_TTL` above which the oldest entry counts as too old: it will expire unless work speeds up."""


class QueueState(msgspec.Struct, frozen=True):
    """What the checks of a queue judge."""

    stage: Stage
    depth: QueueDepth
    max_size: int
    entry_ttl_ms: int
    relay_is_fresh: bool


def queue_state(wiring: Wiring, stage: Stage) -> QueueState:
    """The state of the moment; raises `Unavailable`."""
    queue = wiring.settings.queue(stage.value)
    depth = wiring.queue(stage).depth()
    return QueueState(stage, depth, queue.zset_max_size, queue.zset_entry_ttl, relay_is_fresh(wiring))


def judge_depth(state: QueueState) -> dg.AssetCheckResult:
    """Whether the queue has room left, with its figures."""
    depth = state.depth
    held = depth.ready + depth.leased + depth.delayed
    limit = int(state.max_size * FULL_SHARE)
    return dg.AssetCheckResult(
        passed=held <= limit,
        severity=dg.AssetCheckSeverity.WARN,
        asset_key=queue_key(state.stage),
        check_name="depth",
        description=f"{held} entries held; more than {limit} of {state.max_size} would be too many",
        metadata={
            "held": held,
            "outbox": depth.outbox,
            **{f"ready_{priority.label}": band.ready for priority, band in depth.bands.items()},
        },
    )


def judge_age(state: QueueState) -> dg.AssetCheckResult:
    """Whether the oldest ready entry will be worked on before it expires."""
    oldest_ms = max((band.oldest_age_ms for band in state.depth.bands.values()), default=0)
    limit_ms = int(state.entry_ttl_ms * OLD_SHARE)
    ttl = exact_duration(state.entry_ttl_ms)
    return dg.AssetCheckResult(
        passed=oldest_ms // 1000 <= limit_ms // 1000,
        severity=dg.AssetCheckSeverity.WARN,
        asset_key=queue_key(state.stage),
        check_name="age",
        description=f"the oldest entry has waited {about_duration(oldest_ms)}; entries expire after {ttl}",
        metadata={"oldest_s": oldest_ms // 1000},
    )


def judge_retries(state: QueueState) -> dg.AssetCheckResult:
    """Whether somebody relays retries and brings back leases; without that nothing is put into the queue."""
    silent = exact_duration(RELAY_SILENT_AFTER_MS)
    return dg.AssetCheckResult(
        passed=state.relay_is_fresh,
        severity=dg.AssetCheckSeverity.ERROR,
        asset_key=queue_key(state.stage),
        check_name="retries",
        description=(
            "the sensor retry_relay is at work"
            if state.relay_is_fresh
            else f"the sensor retry_relay hasn't worked for {silent}, so intakes wait; see its ticks"
        ),
    )


JUDGES: dict[str, Callable[[QueueState], dg.AssetCheckResult]] = {
    "depth": judge_depth,
    "age": judge_age,
    "retries": judge_retries,
}


def queue_check(stage: Stage, name: str) -> dg.AssetChecksDefinition:
    """One check on the queue of a stage."""
    judge = JUDGES[name]

    @dg.asset_check(asset=queue_key(stage), name=name, description=judge.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge(queue_state(wiring, stage))

    return check


def queue_checks() -> list[dg.AssetChecksDefinition]:
    """All checks of all queues."""
    return [queue_check(stage, name) for stage in QUEUED_STAGES for name in JUDGES]


def check_evaluations(states: Iterable[QueueState]) -> Iterator[dg.AssetCheckEvaluation]:
    """The same results as runless events."""
    for state in states:
        for judge in JUDGES.values():
            yield as_evaluation(judge(state))


def as_evaluation(result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """A result that names its asset and its check, as a runless event."""
    if result.asset_key is None or result.check_name is None:
        raise ValueError("a result without a name belongs to nothing outside a run")
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        severity=result.severity,
        metadata=result.metadata,
        description=result.description,
    )
