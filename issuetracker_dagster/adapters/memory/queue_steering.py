"""The queue in memory in the hands of operators, beside `MemoryStageQueue`."""

from collections.abc import Sequence

import msgspec

from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.queue_state import MINUTE_MS, Held
from issuetracker_dagster.model.priority import Priority, arrival_of_score, priority_of_score
from issuetracker_dagster.model.queue import LeaseTimes
from issuetracker_dagster.model.queue_view import EntryView, Move, MoveResult


class MemoryQueueSteering:
    """`QueueSteering` of a queue in memory."""

    def __init__(self, queue: MemoryStageQueue) -> None:
        self._queue = queue

    def peek(self, band: Priority | None, limit: int, after: float | None = None) -> Sequence[EntryView]:
        with self._queue.steered() as state:
            views = [_view(state.held[member]) for member in state.ready.in_order(0.0)]
        meant = [
            view for view in views if (band is None or view.priority is band) and (after is None or view.place > after)
        ]
        return tuple(meant[:limit])

    def find(self, members: Sequence[str]) -> Sequence[EntryView]:
        with self._queue.steered() as state:
            return tuple(_view(state.held[member]) for member in members if member in state.held)

    def move(self, moves: Sequence[Move], to: Priority) -> MoveResult:
        moved = same = leased = gone = 0
        with self._queue.steered() as state:
            for move in moves:
                held = state.held.get(move.member)
                if held is None or held.state == "outbox":
                    gone += 1
                elif held.state == "leased":
                    leased += 1
                elif not state.move(held, to):
                    same += 1
                else:
                    held.entry = msgspec.structs.replace(held.entry, envelope=move.envelope)
                    moved += 1
        return MoveResult(moved, same, leased, gone)

    def lease_times(self, near_ms: int) -> LeaseTimes:
        with self._queue.steered() as state:
            left = state.left_of_leases()
        over = [-ms for ms in left if ms <= 0]
        return LeaseTimes(
            near=sum(0 < ms <= near_ms for ms in left), over=len(over), oldest_over_ms=max(over, default=0)
        )


def _view(held: Held) -> EntryView:
    is_out = held.state == "outbox"
    return EntryView(
        member=held.entry.member,
        state=held.state,
        priority=None if is_out else priority_of_score(held.score),
        arrival_ms=None if is_out else arrival_of_score(held.score),
        deliveries=held.deliveries,
        source_ms=held.entry.source_ms // MINUTE_MS * MINUTE_MS,
        due_ms=held.due_ms if held.state in ("leased", "delayed") else 0,
        envelope=b"" if is_out else held.entry.envelope,
    )
