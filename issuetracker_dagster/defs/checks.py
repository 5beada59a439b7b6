"""Checks on the stage queues. Run from the UI they look at once; the health probe reports the same without a run."""

from collections.abc import Iterator, Mapping

import dagster as dg

from issuetracker_dagster.defs.assets import queue_key
from issuetracker_dagster.model.queue import QueueDepth
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

DEPTH_CHECK = "depth"
FULL_SHARE = 0.8
"""Share of `*_ZSET_MAX_SIZE` above which a queue counts as too full: evictions are near."""


def judge_depth(stage: Stage, depth: QueueDepth, max_size: int) -> dg.AssetCheckResult:
    """Whether a queue has room, with its figures."""
    held = depth.ready + depth.leased + depth.delayed
    limit = int(max_size * FULL_SHARE)
    return dg.AssetCheckResult(
        passed=held <= limit,
        severity=dg.AssetCheckSeverity.WARN,
        asset_key=queue_key(stage),
        check_name=DEPTH_CHECK,
        description=f"{held} entries held; more than {limit} of {max_size} would be too many",
        metadata={
            "held": held,
            "outbox": depth.outbox,
            **{f"ready_{priority.label}": band.ready for priority, band in depth.bands.items()},
        },
    )


def depth_check(stage: Stage) -> dg.AssetChecksDefinition:
    """The check on the depth of one stage's queue."""

    @dg.asset_check(asset=queue_key(stage), name=DEPTH_CHECK, description="Whether the queue has room left.")
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge_depth(stage, wiring.queue(stage).depth(), wiring.settings.queue(stage.value).zset_max_size)

    return check


def depth_checks() -> list[dg.AssetChecksDefinition]:
    """One for each queue."""
    return [depth_check(stage) for stage in QUEUED_STAGES]


def check_evaluations(depths: Mapping[Stage, QueueDepth], settings: Settings) -> Iterator[dg.AssetCheckEvaluation]:
    """The same results as runless events."""
    for stage, depth in depths.items():
        result = judge_depth(stage, depth, settings.queue(stage.value).zset_max_size)
        yield dg.AssetCheckEvaluation(
            asset_key=queue_key(stage),
            check_name=DEPTH_CHECK,
            passed=result.passed,
            severity=result.severity,
            metadata=result.metadata,
            description=result.description,
        )
