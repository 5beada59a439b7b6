"""The check `waiting` on the retries: how many failed messages wait, and whether those that are due go out."""

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import RETRIES
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level, Limits
from issuetracker_dagster.wiring.parts import Wiring

CHECK = "waiting"


class RetryState(msgspec.Struct, frozen=True, kw_only=True):
    """How many retries wait, and for how long the first in line has been due (0: none is)."""

    waiting: int
    overdue_ms: int
    limits: Limits
    late_limits: Limits


def judge_waiting(state: RetryState) -> dg.AssetCheckResult:
    """Whether only so many messages wait for another try, and those that are due are sent."""
    many, late = state.limits.level(state.waiting), state.late_limits.level(state.overdue_ms)
    said = f"{state.waiting} messages wait for another try"
    if state.overdue_ms:
        said += f"; the first has been due for {about_duration(state.overdue_ms)}"
    if late:
        said += ". The sensor retry_relay sends them: its ticks say why it doesn't"
    if many:
        said += (
            ". So many fail at once when a site, the network or a server is out: the logs of shifts name the error "
            "(message.retried), and `issuetracker dlq list --newer-than 1h` what had no more tries"
        )
    figures = {"waiting": state.waiting, "overdue_s": state.overdue_ms // 1000}
    return result(RETRIES, CHECK, max(many, late, Level.WELL), said, figures)


def retry_state(wiring: Wiring) -> RetryState:
    """The state of the moment; raises `Unavailable`."""
    now_ms, check = wiring.clock.now_ms(), wiring.settings.check
    first = next(iter(wiring.retry_set.due(now_ms, limit=1)), None)
    return RetryState(
        waiting=wiring.retry_set.size(),
        overdue_ms=max(0, now_ms - first.due_ms) if first else 0,
        limits=Limits(check.retries_warn, check.retries_error),
        late_limits=Limits(check.late_warn, check.late_error),
    )


@dg.asset_check(asset=RETRIES, name=CHECK, description=judge_waiting.__doc__)
def retry_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return judge_waiting(retry_state(wiring))


def look_at_retries(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about retries. Raises `Unavailable`."""
    state = retry_state(wiring)
    return [as_evaluation(judge_waiting(state))], f"{state.waiting} retries wait"
