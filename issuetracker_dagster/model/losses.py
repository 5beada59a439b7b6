"""What waits in Redis alone, as it was last seen, and what of it was lost since.

Stage queues aren't among it: they fill themselves again from Kafka. Everything here is decided from values; who looks,
and where the memory is kept, is the caller's.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

TOLD_FOR_MS = 24 * 3_600_000
"""How long a loss is told. Nothing can be done about it later that couldn't be done by then."""
LOSSES_KEPT = 5
"""Of each holding, the latest."""


class Kind(StrEnum):
    """How something was lost."""

    WIPED = "wiped"
    """The server has other data or none."""
    BEHIND = "behind"
    """Another server took over which is known to lack writes: a replica that was behind, a snapshot."""
    TAKEN_OVER = "taken_over"
    """Another server took over; it had everything up to the last look, which is all that can be known."""


class Holding(msgspec.Struct, frozen=True):
    """Something that waits in Redis alone, at this moment.

    `mark` lives and dies with the data. `history` names the stream of writes that the server goes on with and `length`
    how many bytes long that is; `before` is the history that it took over (empty: none), up to byte `followed`.
    """

    name: str
    count: int
    mark: str
    history: str = ""
    length: int = 0
    before: str = ""
    followed: int = 0


class Seen(msgspec.Struct, frozen=True):
    """A holding as it was seen at `at_ms`; `empty_ms` is when it was last seen empty (0: never)."""

    holding: Holding
    at_ms: int
    empty_ms: int = 0


class Loss(msgspec.Struct, frozen=True):
    """`count` waited at `seen_ms`, all of it come after `since_ms` (0: not known); noticed at `noticed_ms`."""

    kind: Kind
    count: int
    seen_ms: int
    noticed_ms: int
    since_ms: int = 0


class Memory(msgspec.Struct, frozen=True):
    """What was seen last and lost lately, by name of the holding."""

    seen: Mapping[str, Seen] = {}
    losses: Mapping[str, tuple[Loss, ...]] = {}


def remember(memory: Memory, holdings: Sequence[Holding], now_ms: int) -> Memory:
    """The memory after a look at `holdings`. What isn't among them stays as it was seen."""
    seen, losses = dict(memory.seen), dict(memory.losses)
    for holding in holdings:
        before = seen.get(holding.name)
        told = list(lately(memory, holding.name, now_ms))
        kind = _lost(before.holding, holding) if before else None
        if before and kind:
            told.append(Loss(kind, before.holding.count, before.at_ms, now_ms, before.empty_ms))
        losses[holding.name] = tuple(told[-LOSSES_KEPT:])
        empty_ms = now_ms if not holding.count else before.empty_ms if before and kind is not Kind.WIPED else 0
        seen[holding.name] = Seen(holding, now_ms, empty_ms)
    return Memory(seen, losses)


def lately(memory: Memory, name: str, now_ms: int) -> Sequence[Loss]:
    """The losses of a holding that are still told, oldest first."""
    return [loss for loss in memory.losses.get(name, ()) if now_ms - loss.noticed_ms < TOLD_FOR_MS]


def new_losses(before: Memory, after: Memory) -> Sequence[tuple[str, Loss]]:
    """What the later memory tells and the earlier one didn't."""
    return [
        (name, loss)
        for name, losses in after.losses.items()
        for loss in losses
        if loss not in before.losses.get(name, ())
    ]


def _lost(before: Holding, now: Holding) -> Kind | None:
    if now.mark != before.mark:
        return Kind.WIPED
    if now.history == before.history or not now.before:
        return None  # the same server, or one that came back with its append-only file
    # Of a history in between, which nobody looked at, it isn't known how far this one was followed.
    in_step = now.before == before.history and now.followed > before.length
    return Kind.TAKEN_OVER if in_step else Kind.BEHIND
