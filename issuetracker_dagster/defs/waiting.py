"""What the checks `waiting` of retries and frontier share: how many wait, and whether those that are due are taken."""

import dagster as dg
import msgspec

from issuetracker_dagster.defs.results import result
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level, Limits
from issuetracker_dagster.settings.groups import CheckSettings

CHECK = "waiting"


class WaitingState(msgspec.Struct, frozen=True, kw_only=True):
    """How many wait, and for how long the first in line has been due (0: none is)."""

    waiting: int
    overdue_ms: int
    limits: Limits
    late_limits: Limits


def late_limits(check: CheckSettings) -> Limits:
    """How long the first in line may have been due."""
    return Limits(check.late_warn, check.late_error)


def judged(
    asset: dg.AssetKey, state: WaitingState, *, what: str, first: str, if_late: str, if_many: str
) -> dg.AssetCheckResult:
    """The result for `what` waits, whose first is called `first`; the last two say what helps."""
    many, late = state.limits.level(state.waiting), state.late_limits.level(state.overdue_ms)
    said = f"{state.waiting} {what}"
    if state.overdue_ms:
        said += f"; {first} has been due for {about_duration(state.overdue_ms)}"
    if late:
        said += f". {if_late}"
    if many:
        said += f". {if_many}"
    figures = {"waiting": state.waiting, "overdue_s": state.overdue_ms // 1000}
    return result(asset, CHECK, max(many, late, Level.WELL), said, figures)
