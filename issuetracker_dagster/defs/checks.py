"""Checks on the stage queues. Run from the UI they look at once; the health probe reports the same without a run."""

from collections.abc import Callable, Iterable, Iterator

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import queue_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.limits import Level, Limits, LimitsByBand
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import LeaseTimes, QueueDepth
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.steering import steering
from issuetracker_dagster.wiring.upkeep import RELAY_SILENT_AFTER_MS, relay_is_fresh

OLD_SHARE, VERY_OLD_SHARE = 0.5, 0.9
"""Shares of `*_ZSET_ENTRY_TTL` that no age limit exceeds: such an entry will expire unless work speeds up."""


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks of a queue judge. `lease_ms` is how long a lease lasts without a sign of its worker."""

    stage: Stage
    depth: QueueDepth
    leases: LeaseTimes
    max_size: int
    entry_ttl_ms: int
    lease_ms: int
    relay_is_fresh: bool
    depth_limits: LimitsByBand
    age_limits: LimitsByBand
    late_limits: Limits


def near_ms(lease_ms: int) -> int:
    """Time before its deadline within which a lease is near it: its worker has then missed two of its signs of life."""
    return lease_ms // 3


def queue_state(wiring: Wiring, stage: Stage) -> QueueState:
    """The state of the moment; raises `Unavailable`."""
    queue, check = wiring.settings.queue(stage.value), wiring.settings.check
    return QueueState(
        stage=stage,
        depth=wiring.queue(stage).depth(),
        leases=steering(wiring, stage).lease_times(near_ms(queue.zset_lease)),
        max_size=queue.zset_max_size,
        entry_ttl_ms=queue.zset_entry_ttl,
        lease_ms=queue.zset_lease,
        relay_is_fresh=relay_is_fresh(wiring),
        depth_limits=LimitsByBand(check.depth_warn, check.depth_error),
        age_limits=LimitsByBand(check.age_warn, check.age_error),
        late_limits=Limits(check.late_warn, check.late_error),
    )


def judge_depth(state: QueueState) -> dg.AssetCheckResult:
    """Whether the queue has room left, by what each priority and better ones take of it (low: everything held)."""
    depth = state.depth
    held = depth.ready + depth.leased + depth.delayed
    taken, worst, told = 0, Level.WELL, []
    for priority in Priority:
        band = depth.bands.get(priority)
        taken = held if priority is Priority.LOW else taken + (band.ready if band else 0)
        level = state.depth_limits.of(priority).level(taken / state.max_size)
        worst = max(worst, level)
        if level:
            told.append(f"{taken} are {_and_better(priority)}")
    said = f"{held} entries held, {depth.ready} of them ready, of which {state.max_size} find room"
    if told:
        variable = state.stage.name
        said = (
            f"{said}; {'; '.join(told)}. That is more than CHECK_DEPTH_WARN or CHECK_DEPTH_ERROR allows. "
            f"`issuetracker top` shows whether {state.stage} is worked on, `issuetracker queue peek {state.stage}` "
            f"what waits; {variable}_SLOTS or {variable}_WORKER_COUNT gives it more workers. A full queue does as "
            f"{variable}_ZSET_OVERFLOW says"
        )
    ready = {f"ready_{priority.label}": band.ready for priority, band in depth.bands.items()}
    return result(queue_key(state.stage), "depth", worst, said, {"held": held, "outbox": depth.outbox, **ready})


def _and_better(priority: Priority) -> str:
    return {Priority.HIGH: "high", Priority.NORMAL: "high or normal", Priority.LOW: "there in all"}[priority]


def judge_age(state: QueueState) -> dg.AssetCheckResult:
    """Whether the oldest ready entry of each priority will be worked on in time, and before it expires."""
    ages = {priority: band.oldest_age_ms for priority, band in state.depth.bands.items() if band.ready}
    bounds = Limits(state.entry_ttl_ms * OLD_SHARE, state.entry_ttl_ms * VERY_OLD_SHARE)
    levels = {
        # In whole seconds: what is told is judged.
        priority: state.age_limits.of(priority).at_most(bounds).level(age_ms // 1000 * 1000)
        for priority, age_ms in ages.items()
    }
    late = [priority for priority, level in levels.items() if level]
    expires = f"entries expire after {exact_duration(state.entry_ttl_ms)}"
    if late:
        told = "; ".join(f"the oldest {p.label} entry has waited {about_duration(ages[p])}" for p in sorted(late))
        # That share is taken from the better ones: no help when high itself is late.
        helps = (
            f"`issuetracker queue peek {state.stage}` shows whose entries those are, `issuetracker queue move "
            f"{state.stage} --from low --to high` helps at once; from the next start on "
            f"{state.stage.name}_ZSET_MAX_WAIT gives what waited longer a share of the claims"
            if Priority.LOW in late and Priority.HIGH not in late
            else f"{state.stage.name}_SLOTS or {state.stage.name}_WORKER_COUNT gives it more workers"
        )
        said = (
            f"{told}; {expires}. `issuetracker top` shows whether {state.stage} is worked on and which priority takes "
            f"the workers; {helps}"
        )
    else:
        oldest = max(ages.values(), default=0)
        said = f"the oldest entry has waited {about_duration(oldest)}; {expires}"
    figures = {f"oldest_{priority.label}_s": ages.get(priority, 0) // 1000 for priority in Priority}
    return result(queue_key(state.stage), "age", max(levels.values(), default=Level.WELL), said, figures)


def judge_leases(state: QueueState) -> dg.AssetCheckResult:
    """Whether workers show in time that they are still at what they took, and what the dead left comes back."""
    leases = state.leases
    # Whatever ends a lease brings back nothing in the very moment: only what stays over is a fault of its own.
    level = max(Level.WARN if leases.near else Level.WELL, state.late_limits.level(leases.oldest_over_ms))
    said = f"{state.depth.leased} entries are held by workers"
    if leases.near:
        said += (
            f"; {leases.near} of them without a sign of life for two thirds of {exact_duration(state.lease_ms)}: their "
            "worker is dead, hangs or can't reach Redis. They come back by themselves; the runs of "
            f"{state.stage}_shift say what happened"
        )
    if leases.over:
        said += f"; {leases.over} are over, the oldest for {about_duration(leases.oldest_over_ms)}"
    if state.late_limits.level(leases.oldest_over_ms):
        said += ". The sensor retry_relay brings them back: see its ticks"
    figures = {"leased": state.depth.leased, "near": leases.near, "over": leases.over}
    return result(queue_key(state.stage), "leases", level, said, figures)


def judge_retries(state: QueueState) -> dg.AssetCheckResult:
    """Whether somebody relays retries and brings back leases; without that nothing is put into the queue."""
    silent = exact_duration(RELAY_SILENT_AFTER_MS)
    said = f"the sensor retry_relay hasn't worked for {silent}, so intakes wait; switch it on, or see its ticks"
    if state.relay_is_fresh:
        said = "the sensor retry_relay is at work"
    level = Level.WELL if state.relay_is_fresh else Level.ERROR
    return result(queue_key(state.stage), "retries", level, said, {"relayed": state.relay_is_fresh})


JUDGES: dict[str, Callable[[QueueState], dg.AssetCheckResult]] = {
    "depth": judge_depth,
    "age": judge_age,
    "leases": judge_leases,
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
