"""Priorities and the scores that order a stage queue by them.

The header form is the one place where a foreign string becomes a priority; scores are shared with the Lua scripts.
"""

from enum import IntEnum

BAND_WIDTH = 10**13
"""Score distance between two priorities, in milliseconds: wider than any Unix time until 2286."""


class Priority(IntEnum):
    """Smaller is sooner."""

    HIGH = 1
    NORMAL = 2
    LOW = 3

    @property
    def label(self) -> str:
        return self.name.lower()


_AS_WRITTEN: dict[bytes | str | None, Priority] = {str(int(priority)).encode(): priority for priority in Priority}
"""What every message of the pipeline carries, and so no more than a look-up."""


def priority_from_headers(value: bytes | str | None) -> Priority:
    """The priority that a header spells; anything missing, empty, non-numeric or outside 1..3 is normal."""
    if value in _AS_WRITTEN:
        return _AS_WRITTEN[value]
    if value is None:
        return Priority.NORMAL
    text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
    try:
        return Priority(int(text))
    except ValueError:
        return Priority.NORMAL


def priority_from_label(text: str) -> Priority:
    """`high`, `normal`, `low` or `1`..`3` to a priority; raises ValueError that lists what is accepted."""
    by_label = {priority.label: priority for priority in Priority} | {str(int(p)): p for p in Priority}
    try:
        return by_label[text.strip().lower()]
    except KeyError:
        raise ValueError(f"priority {text!r} is none of high, normal, low (or 1, 2, 3)") from None


def score(priority: Priority, arrival_ms: float) -> float:
    """`priority x 1e13 + arrival_ms`: orders by priority, then by arrival; 1/256 ms stays exact until about 2134."""
    return priority * float(BAND_WIDTH) + arrival_ms


def priority_of_score(value: float) -> Priority:
    """The priority inside a score; inverse of `score`."""
    return Priority(int(value // BAND_WIDTH))


def arrival_of_score(value: float) -> float:
    """The arrival time inside a score, in Unix milliseconds with 1/256 ms steps."""
    return value % BAND_WIDTH
