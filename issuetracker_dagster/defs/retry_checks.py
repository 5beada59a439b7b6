"""The check `waiting` on the retries: how many failed messages wait, and whether those that are due go out."""

import dagster as dg

from issuetracker_dagster.defs.assets import RETRIES
from issuetracker_dagster.defs.results import as_evaluation
from issuetracker_dagster.defs.waiting import CHECK, WaitingState, judged, late_limits
from issuetracker_dagster.model.limits import Limits
from issuetracker_dagster.wiring.parts import Wiring


def judge_waiting(state: WaitingState) -> dg.AssetCheckResult:
    """Whether only so many messages wait for another try, and those that are due are sent."""
    return judged(
        RETRIES,
        state,
        what="messages wait for another try",
        first="the first",
        if_late="The sensor retry_relay sends them: its ticks say why it doesn't",
        if_many=(
            "So many fail at once when a site, the network or a server is out: the logs of shifts name the error "
            "(message.retried), and `issuetracker dlq list --newer-than 1h` what had no more tries"
        ),
    )


def retry_state(wiring: Wiring) -> WaitingState:
    """The state of the moment; raises `Unavailable`."""
    now_ms, check = wiring.clock.now_ms(), wiring.settings.check
    first = next(iter(wiring.retry_set.due(now_ms, limit=1)), None)
    return WaitingState(
        waiting=wiring.retry_set.size(),
        overdue_ms=max(0, now_ms - first.due_ms) if first else 0,
        limits=Limits(check.retries_warn, check.retries_error),
        late_limits=late_limits(check),
    )


@dg.asset_check(asset=RETRIES, name=CHECK, description=judge_waiting.__doc__)
def retry_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return judge_waiting(retry_state(wiring))


def look_at_retries(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about retries. Raises `Unavailable`."""
    state = retry_state(wiring)
    return [as_evaluation(judge_waiting(state))], f"{state.waiting} retries wait"
