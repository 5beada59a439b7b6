"""The check `waiting` on the frontier: how many crawl jobs wait for their hosts, and whether hosts that are due are
asked."""

import dagster as dg
import msgspec

from issuetracker_dagster.adapters.redis.looks import first_due_ms
from issuetracker_dagster.defs.assets import FRONTIER
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level, Limits
from issuetracker_dagster.wiring.parts import Wiring

CHECK = "waiting"


class FrontierState(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs wait for their hosts, and for how long the first host has been due (0: none is)."""

    waiting: int
    overdue_ms: int
    limits: Limits
    late_limits: Limits


def judge_waiting(state: FrontierState) -> dg.AssetCheckResult:
    """Whether only so many crawl jobs wait for their hosts, and hosts that are due are asked."""
    many, late = state.limits.level(state.waiting), state.late_limits.level(state.overdue_ms)
    said = f"{state.waiting} crawl jobs wait for their hosts"
    if state.overdue_ms:
        said += f"; the first host has been due for {about_duration(state.overdue_ms)}"
    if late:
        said += (
            ". Workers of fetch take them: the ticks of fetch_workers say why there are none; when there are, they are "
            "busy, and FETCH_SLOTS gives more"
        )
    if many:
        said += (
            ". So many wait when hosts allow fewer fetches than are asked for: the rates in fetcher_rules, "
            "CHECK_FRONTIER_WARN if that is meant, or fewer seeds"
        )
    figures = {"waiting": state.waiting, "overdue_s": state.overdue_ms // 1000}
    return result(FRONTIER, CHECK, max(many, late, Level.WELL), said, figures)


def frontier_state(wiring: Wiring) -> FrontierState:
    """The state of the moment; raises `Unavailable`."""
    check, waiting = wiring.settings.check, wiring.frontier.size()
    # An agenda may name hosts without a job until somebody looks at them.
    due_ms = first_due_ms(wiring.redis) if waiting else None
    return FrontierState(
        waiting=waiting,
        overdue_ms=0 if due_ms is None else max(0, wiring.clock.now_ms() - due_ms),
        limits=Limits(check.frontier_warn, check.frontier_error),
        late_limits=Limits(check.late_warn, check.late_error),
    )


@dg.asset_check(asset=FRONTIER, name=CHECK, description=judge_waiting.__doc__)
def frontier_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return judge_waiting(frontier_state(wiring))


def look_at_frontier(wiring: Wiring) -> tuple[list[dg.AssetCheckEvaluation], str]:
    """What the health probe tells about jobs that wait for their hosts. Raises `Unavailable`."""
    state = frontier_state(wiring)
    return [as_evaluation(judge_waiting(state))], f"{state.waiting} jobs wait for their hosts"
