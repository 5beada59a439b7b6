"""The check `waiting` on the frontier: how many crawl jobs wait for their hosts, and whether hosts that are due are
asked."""

import dagster as dg

from issuetracker_dagster.adapters.redis.looks import first_due_ms
from issuetracker_dagster.defs.assets import FRONTIER
from issuetracker_dagster.defs.results import as_evaluation
from issuetracker_dagster.defs.waiting import CHECK, WaitingState, judged, late_limits
from issuetracker_dagster.model.limits import Limits
from issuetracker_dagster.wiring.parts import Wiring


def judge_waiting(state: WaitingState) -> dg.AssetCheckResult:
    """Whether only so many crawl jobs wait for their hosts, and hosts that are due are asked."""
    return judged(
        FRONTIER,
        state,
        what="crawl jobs wait for their hosts",
        first="the first host",
        if_late=(
            "Workers of fetch take them: the ticks of fetch_workers say why there are none; when there are, they are "
            "busy, and FETCH_SLOTS gives more"
        ),
        if_many=(
            "So many wait when hosts allow fewer fetches than are asked for: the rates in fetcher_rules, "
            "CHECK_FRONTIER_WARN if that is meant, or fewer seeds"
        ),
    )


def frontier_state(wiring: Wiring) -> WaitingState:
    """The state of the moment; raises `Unavailable`."""
    check, waiting = wiring.settings.check, wiring.frontier.size()
    # An agenda may name hosts without a job until somebody looks at them.
    due_ms = first_due_ms(wiring.redis) if waiting else None
    return WaitingState(
        waiting=waiting,
        overdue_ms=0 if due_ms is None else max(0, wiring.clock.now_ms() - due_ms),
        limits=Limits(check.frontier_warn, check.frontier_error),
        late_limits=late_limits(check),
    )


@dg.asset_check(asset=FRONTIER, name=CHECK, description=judge_waiting.__doc__)
def frontier_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return judge_waiting(frontier_state(wiring))


def look_at_frontier(wiring: Wiring) -> tuple[list[dg.AssetCheckEvaluation], str]:
    """What the health probe tells about jobs that wait for their hosts. Raises `Unavailable`."""
    state = frontier_state(wiring)
    return [as_evaluation(judge_waiting(state))], f"{state.waiting} jobs wait for their hosts"
