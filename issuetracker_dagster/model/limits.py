"""From which figures on something is a warning, and from which an error."""

from collections.abc import Mapping
from enum import IntEnum

import msgspec

from issuetracker_dagster.model.priority import Priority


class Level(IntEnum):
    """How bad it is; the larger the worse."""

    WELL = 0
    WARN = 1
    ERROR = 2


class Limits(msgspec.Struct, frozen=True):
    """A figure may reach a limit, and is too much above it. A limit of 0 is none."""

    warn: float
    error: float

    def level(self, figure: float) -> Level:
        """How bad that figure is."""
        if self.error and figure > self.error:
            return Level.ERROR
        return Level.WARN if self.warn and figure > self.warn else Level.WELL

    def at_most(self, bounds: "Limits") -> "Limits":
        """The same limits, none of them beyond that of `bounds`."""
        return Limits(_lower(self.warn, bounds.warn), _lower(self.error, bounds.error))


def _lower(one: float, other: float) -> float:
    return min(one or other, other or one)


class LimitsByBand(msgspec.Struct, frozen=True):
    """Limits of each priority, by its word, as settings write them."""

    warn: Mapping[str, float]
    error: Mapping[str, float]

    def of(self, priority: Priority) -> Limits:
        """The limits of that priority."""
        return Limits(self.warn[priority.label], self.error[priority.label])
