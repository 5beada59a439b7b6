"""A stage queue on Redis in the hands of operators: looking without taking, finding members, moving between bands."""

from collections.abc import Sequence

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.queue_codec import (
    HEADER,
    MAX_PER_CALL,
    MINUTE_MS,
    PRIORITY_TEXT,
    queue_keys,
)
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.model.priority import BAND_WIDTH, Priority, arrival_of_score, priority_of_score
from issuetracker_dagster.model.queue import LeaseTimes
from issuetracker_dagster.model.queue_view import EntryState, EntryView, Move, MoveResult

_COUNT = 3


class RedisQueueSteering:
    """`QueueSteering` of the queue whose ready set is `key`."""

    def __init__(self, client: RedisClient, key: str) -> None:
        self._client = client
        self._keys = queue_keys(key)

    def peek(self, band: Priority | None, limit: int, after: float | None = None) -> Sequence[EntryView]:
        least = "-inf" if band is None else repr(float(band * BAND_WIDTH))
        most = "+inf" if band is None else f"({float((band + 1) * BAND_WIDTH)!r}"
        if after is not None and (band is None or after >= band * BAND_WIDTH):
            least = f"({after!r}"
        found: list[EntryView] = []
        while len(found) < limit:
            size = min(limit - len(found), MAX_PER_CALL)
            members, scores, values = script("queue_look").run(self._client, self._keys.all, (least, most, str(size)))
            # An entry without a value is what a foreign hand left: the next claim takes it away.
            found += [
                _view(member, "ready", points, value)
                for member, points, value in zip(members, scores, values, strict=True)
                if value
            ]
            if len(members) < size:
                break
            least = f"({scores[-1].decode()}"
        return tuple(found)

    def find(self, members: Sequence[str]) -> Sequence[EntryView]:
        found: list[EntryView] = []
        for first in range(0, len(members), MAX_PER_CALL):
            batch = members[first : first + MAX_PER_CALL]
            replies = script("queue_find").run(self._client, self._keys.all, batch)
            for member, (state, points, due, value) in zip(batch, replies, strict=True):
                if state and value:
                    found.append(_view(member.encode(), state.decode(), points, value, due))
        return tuple(found)

    def move(self, moves: Sequence[Move], to: Priority) -> MoveResult:
        result = MoveResult()
        for first in range(0, len(moves), MAX_PER_CALL):
            args: list[str | bytes] = [PRIORITY_TEXT[to]]
            for move in moves[first : first + MAX_PER_CALL]:
                args += (move.member, move.envelope)
            result = result.plus(MoveResult(*script("queue_move").run(self._client, self._keys.all, args)))
        return result

    def lease_times(self, near_ms: int) -> LeaseTimes:
        near, over, oldest_over_ms = script("queue_lease_times").run(self._client, self._keys.all, (str(near_ms),))
        return LeaseTimes(near=near, over=over, oldest_over_ms=oldest_over_ms)


def _view(member: bytes, state: EntryState, points: bytes, value: bytes, due: bytes = b"") -> EntryView:
    place = float(points) if points else None
    return EntryView(
        member=member.decode(),
        state=state,
        priority=None if place is None else priority_of_score(place),
        arrival_ms=None if place is None else arrival_of_score(place),
        deliveries=int(value[:_COUNT]),
        source_ms=int(value[_COUNT:HEADER]) * MINUTE_MS,
        due_ms=int(float(due)) if due else 0,
        envelope=value[HEADER:],
    )
