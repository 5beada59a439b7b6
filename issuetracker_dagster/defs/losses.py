"""Whether what waits in Redis alone is still there: a check on each holding, from the memory of the health probe.

The memory is the probe's cursor, and so in Dagster's storage: it must outlive Redis.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from issuetracker_dagster.defs.assets import BUFFERED, FRONTIER, RETRIES, buffer_key
from issuetracker_dagster.defs.flags import sensor_cursor
from issuetracker_dagster.defs.results import as_evaluation
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.losses import (
    TOLD_FOR_MS,
    Kind,
    Loss,
    Memory,
    lately,
    new_losses,
    remember,
)
from issuetracker_dagster.model.probe import decode_probe
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.wiring.losses import FRONTIER as FRONTIER_NAME
from issuetracker_dagster.wiring.losses import RETRY_SET, holding_of, holdings
from issuetracker_dagster.wiring.parts import Wiring

logger = logging.getLogger(__name__)

AssetEvent = dg.AssetObservation | dg.AssetCheckEvaluation

CHECK = "kept"
PROBE = "health_probe"
ASSETS = {
    **{holding_of(topic): buffer_key(topic) for topic in BUFFERED},
    RETRY_SET: RETRIES,
    FRONTIER_NAME: FRONTIER,
}

_WORDS = {holding_of(topic): f"jobs of the buffer of {topic.value}" for topic in BUFFERED} | {
    RETRY_SET: "retries",
    FRONTIER_NAME: "crawl jobs that waited for their hosts",
}
_HAPPENED = {
    Kind.WIPED: "Redis came back without its data",
    Kind.BEHIND: "another Redis took over that lacked some of the last writes",
    Kind.TAKEN_OVER: "another Redis took over, which had everything up to that look",
}
_HELPS = {
    RETRY_SET: "Those of stages with a queue come again from Kafka by themselves, those of fetch don't",
    FRONTIER_NAME: "They are still in Kafka's crawl topics, until retention removes them",
}
_AGAIN = (
    "Seeds come again when they are due, links when their page is read again; `issuetracker publish URL --again` asks "
    "at once"
)


def judge_kept(name: str, losses: Sequence[Loss], now_ms: int) -> dg.AssetCheckResult:
    """Whether nothing that waits in Redis alone was lost within a day."""
    waited = any(loss.count for loss in losses)
    if losses:
        told = [_told(name, loss, now_ms) for loss in reversed(losses)]
        helps = [_HELPS[name]] if name in _HELPS else []
        said = ". ".join([*told, *helps, _AGAIN, f"This is told for {exact_duration(TOLD_FOR_MS)}"])
    else:
        said = f"no loss was noticed within {exact_duration(TOLD_FOR_MS)}"
    return dg.AssetCheckResult(
        passed=not losses,
        severity=dg.AssetCheckSeverity.ERROR if waited else dg.AssetCheckSeverity.WARN,
        asset_key=ASSETS[name],
        check_name=CHECK,
        description=said,
        metadata={"losses": len(losses), "waited": sum(loss.count for loss in losses)},
    )


def _told(name: str, loss: Loss, now_ms: int) -> str:
    since = f", all of them since {_moment(loss.since_ms)}" if loss.count and loss.since_ms else ""
    unseen = about_duration(loss.noticed_ms - loss.seen_ms)
    return (
        f"{about_duration(now_ms - loss.noticed_ms)} ago: {_HAPPENED[loss.kind]}. When last seen, at "
        f"{_moment(loss.seen_ms)}, {loss.count} {_WORDS[name]} were waiting{since}; what came in the {unseen} after "
        "that wasn't seen"
    )


def _moment(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def look_at_losses(wiring: Wiring, before: Memory) -> tuple[list[AssetEvent], Memory]:
    """What the health probe tells, and what it remembers then. A loss is logged when it is noticed; raises
    `Unavailable`."""
    now_ms = wiring.machine_clock.now_ms()
    found = holdings(wiring)
    memory = remember(before, found, now_ms)
    for name, loss in new_losses(before, memory):
        logger.error(
            "%s",
            _told(name, loss, now_ms),
            extra=action("redis.data_lost", what=name, count=loss.count, kind=loss.kind),
        )
    events: list[AssetEvent] = [
        dg.AssetObservation(ASSETS[holding.name], metadata={"waiting": holding.count})
        for holding in found
        if holding.name in (RETRY_SET, FRONTIER_NAME)
    ]
    events += [as_evaluation(judge_kept(name, lately(memory, name, now_ms), now_ms)) for name in ASSETS]
    return events, memory


def loss_checks() -> list[dg.AssetChecksDefinition]:
    """The check of each holding."""
    return [_check(name, key) for name, key in ASSETS.items()]


def _check(name: str, key: dg.AssetKey) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=key, name=CHECK, description=judge_kept.__doc__)
    def check(context: dg.AssetCheckExecutionContext, wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        memory, now_ms = decode_probe(sensor_cursor(context, PROBE)), wiring.machine_clock.now_ms()
        return judge_kept(name, lately(memory, name, now_ms), now_ms)

    return check
