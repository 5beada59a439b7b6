"""What a soak is asked for, and what it found out."""

import msgspec

from tests.soak.dagster_watch import DagsterFigures
from tests.soak.ledger import Judgement
from tests.soak.plan import Fault
from tests.soak.vitals import Life


class Options(msgspec.Struct, frozen=True):
    """What to do, and for how long. `drain_s` bounds the wait for everything to come to its end."""

    faults: tuple[Fault, ...]
    minutes: float
    a_second: float
    drain_s: float


class Result(msgspec.Struct, frozen=True):
    """All that a soak found out. `left` is what still waited in the end, `stuck_runs` what Dagster still thought, and
    `broken` are errors that ended a part of the soak itself, which saw nothing from then on."""

    minutes: float
    planned: int
    thrown: tuple[tuple[str, str, str, float | None, str], ...]
    judgement: Judgement
    published: int
    looks: int
    refused: dict[str, int]
    left: dict[str, int]
    drained_s: float
    doubles: dict[str, float]
    silent: dict[str, float]
    stuck_runs: tuple[str, ...]
    lives: tuple[Life, ...]
    dagster: DagsterFigures
    restarts: int
    bugs: tuple[str, ...]
    broken: tuple[str, ...] = ()
