"""What the two sets of rules share: a fault, weighted parts, and the verdict made of them."""

import msgspec

from issuetracker_dagster.model.records import Verdict


class Fault(msgspec.Struct, frozen=True):
    """Why a content is refused.

    Codes: VAL_001 required, VAL_002 other, VAL_003 too short, VAL_004 too long, VAL_005 quality, VAL_006 spam.
    `refetch` marks what a fresh copy of the page might cure.
    """

    code: str
    reason: str
    refetch: bool = False


Found = Fault | None

REFETCH_NOTE = "refetch_may_help"


def present(text: str) -> bool:
    """Whether a field says anything."""
    return bool(text.strip())


def weighted(*parts: tuple[bool, float]) -> float:
    """The sum of the weights whose part is there, at most 1."""
    return min(1.0, sum(weight for there, weight in parts if there))


def verdict_of(fault: Found, quality: float, scores: dict[str, float], notes: tuple[str, ...]) -> Verdict:
    """The verdict; a fault that a fresh copy might cure is marked by the note `refetch_may_help`."""
    if fault is None:
        return Verdict(accepted=True, quality=quality, scores=scores, notes=notes)
    if fault.refetch:
        notes = (*notes, REFETCH_NOTE)
    return Verdict(accepted=False, code=fault.code, reason=fault.reason, quality=quality, scores=scores, notes=notes)
