"""Which faults happen when: a pure function of the seed, so that the same seed throws the same faults again.

A target is chosen by a number in [0, 1) that stands for a place among those that live when the fault comes.
"""

import random
from collections.abc import Collection, Iterator
from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What can go wrong."""

    SHIFT_KILLED = "shift-killed"
    SHIFT_TERMINATED = "shift-terminated"
    SHIFT_FROZEN = "shift-frozen"
    DRAINER_KILLED = "drainer-killed"
    EXTRACTOR_KILLED = "extractor-killed"
    CODE_SERVER_KILLED = "code-server-killed"
    DAEMON_KILLED = "daemon-killed"
    REBOOT = "reboot"
    RUN_CANCELED = "run-canceled"
    INTAKE_TOGGLED = "intake-toggled"
    DRAIN_TOGGLED = "drain-toggled"
    RELOADED = "reloaded"
    VALKEY_KILLED = "valkey-killed"
    KAFKA_KILLED = "kafka-killed"
    REDIS_CUT_OFF = "redis-cut-off"
    KAFKA_CUT_OFF = "kafka-cut-off"
    REDIS_SLOW = "redis-slow"
    KAFKA_SLOW = "kafka-slow"
    REDIS_REPLIES_LOST = "redis-replies-lost"
    KAFKA_REPLIES_LOST = "kafka-replies-lost"
    REDIS_CUT_IN_REPLIES = "redis-cut-in-replies"
    KAFKA_CUT_IN_REPLIES = "kafka-cut-in-replies"
    SCRIPTS_FLUSHED = "scripts-flushed"
    CLIENTS_KILLED = "clients-killed"
    REDIS_FULL = "redis-full"
    SQL_LOCKED = "sql-locked"


class Shape(msgspec.Struct, frozen=True):
    """How a kind is dealt: how often beside the others, how many seconds it lasts, and what it needs for itself.

    Two faults that need the same never overlap: the end of one would end the other.
    """

    weight: float
    lasts_s: tuple[float, float]
    needs: str


SHAPES = {
    Kind.SHIFT_KILLED: Shape(12, (0, 0), "shift"),
    Kind.SHIFT_TERMINATED: Shape(6, (0, 0), "shift"),
    # Longer than the 20 s lease that the soak gives and than WORKER_DEAD_AFTER: another one has its slot by then.
    Kind.SHIFT_FROZEN: Shape(5, (25, 45), "frozen shift"),
    Kind.DRAINER_KILLED: Shape(5, (0, 0), "drainer"),
    Kind.EXTRACTOR_KILLED: Shape(6, (0, 0), "shift"),
    # Seldom: whether memory stays flat shows only in a process that lives for some minutes.
    Kind.CODE_SERVER_KILLED: Shape(0.5, (0, 0), "demo"),
    Kind.DAEMON_KILLED: Shape(0.5, (0, 0), "demo"),
    Kind.REBOOT: Shape(0.5, (0, 0), "demo"),
    Kind.RUN_CANCELED: Shape(6, (0, 0), "shift"),
    Kind.INTAKE_TOGGLED: Shape(6, (5, 30), "intake"),
    Kind.DRAIN_TOGGLED: Shape(3, (10, 40), "drainer"),
    Kind.RELOADED: Shape(0.5, (0, 0), "demo"),
    Kind.VALKEY_KILLED: Shape(4, (1, 15), "redis"),
    Kind.KAFKA_KILLED: Shape(3, (1, 15), "kafka"),
    Kind.REDIS_CUT_OFF: Shape(5, (5, 40), "redis"),
    Kind.KAFKA_CUT_OFF: Shape(5, (5, 40), "kafka"),
    Kind.REDIS_SLOW: Shape(3, (10, 30), "redis"),
    Kind.KAFKA_SLOW: Shape(3, (10, 30), "kafka"),
    Kind.REDIS_REPLIES_LOST: Shape(5, (3, 10), "redis"),
    Kind.KAFKA_REPLIES_LOST: Shape(4, (3, 10), "kafka"),
    Kind.REDIS_CUT_IN_REPLIES: Shape(4, (3, 10), "redis"),
    Kind.KAFKA_CUT_IN_REPLIES: Shape(3, (3, 10), "kafka"),
    Kind.SCRIPTS_FLUSHED: Shape(4, (0, 0), "redis"),
    Kind.CLIENTS_KILLED: Shape(4, (0, 0), "redis"),
    Kind.REDIS_FULL: Shape(4, (10, 30), "redis"),
    Kind.SQL_LOCKED: Shape(4, (2, 12), "sql"),
}
BREATH_S = {"demo": 60.0, "kafka": 15.0, "redis": 8.0}
"""How long what was hit is left alone afterwards: a Dagster that is killed while it starts tells nothing about the
messages, and a server is to be found working again between two of its faults."""
OTHERWISE_S = 3.0


class Fault(msgspec.Struct, frozen=True):
    """One fault. Seconds count from the moment when the pipeline works; `choice` in [0, 1) picks the target."""

    number: int
    kind: Kind
    at_s: float
    lasts_s: float
    choice: float

    def pick(self, count: int) -> int:
        """The place of the target among so many."""
        return int(self.choice * count)

    def __str__(self) -> str:
        lasts = f", {self.lasts_s:.0f} s long" if self.lasts_s else ""
        return f"{self.number:4} {int(self.at_s) // 60:3}:{int(self.at_s) % 60:02} {self.kind.value}{lasts}"


def plan(seed: int, minutes: float, a_minute: float, only: Collection[Kind] = ()) -> tuple[Fault, ...]:
    """The faults of a soak in their order. Each kind is dealt once before any comes more often, as far as they last."""
    rng = random.Random(seed)
    count = round(minutes * a_minute)
    times = sorted(rng.uniform(0, minutes * 60) for _ in range(count))
    waiting = _dealt(rng, count, [kind for kind in Kind if not only or kind in only])
    free_at: dict[str, float] = {}
    found: list[Fault] = []
    for time in times:
        place = _first_possible(waiting, free_at, time)
        kind = waiting.pop(place)
        shape = SHAPES[kind]
        at_s = max(time, free_at.get(shape.needs, 0.0))
        lasts_s = rng.uniform(*shape.lasts_s)
        free_at[shape.needs] = at_s + lasts_s + BREATH_S.get(shape.needs, OTHERWISE_S)
        found.append(Fault(0, kind, round(at_s, 1), round(lasts_s, 1), rng.random()))
    in_order = sorted(found, key=lambda fault: fault.at_s)
    return tuple(msgspec.structs.replace(fault, number=number) for number, fault in enumerate(in_order, 1))


def _dealt(rng: random.Random, count: int, kinds: list[Kind]) -> list[Kind]:
    first = rng.sample(kinds, min(count, len(kinds)))
    weights = [SHAPES[kind].weight for kind in kinds]
    dealt = [*first, *rng.choices(kinds, weights, k=count - len(first))]
    rng.shuffle(dealt)
    return dealt


def _first_possible(waiting: list[Kind], free_at: dict[str, float], time: float) -> int:
    """The first kind whose needs are free by then; else the one that is free soonest."""

    def wait(kind: Kind) -> float:
        return max(0.0, free_at.get(SHAPES[kind].needs, 0.0) - time)

    return min(range(len(waiting)), key=lambda place: (wait(waiting[place]), place))


def told(faults: tuple[Fault, ...]) -> Iterator[str]:
    """The plan for people, a line a fault."""
    return map(str, faults)
