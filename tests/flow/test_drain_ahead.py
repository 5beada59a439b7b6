"""While the broker answers for one batch the next is decoded: a guess that may be wrong, or impossible."""

import threading
from collections.abc import Sequence

import pytest

from issuetracker_dagster.model.message import Outgoing
from tests.flow.drain_world import DrainWorld
from tests.flow.test_drain_run import Failing


class PushedAside:
    """A producer whose first batch stays on its way until the next was looked at; then that falls out of its buffer."""

    def __init__(self, world: DrainWorld, newer: Sequence[str], looked: threading.Event) -> None:
        self._world = world
        self._newer = newer
        self._looked = looked

    def publish(self, records: Sequence[Outgoing]) -> None:
        assert self._looked.wait(10)
        newer, self._newer = self._newer, ()
        self._world.fill(newer)
        self._world.producer.publish(records)

    def close(self) -> None: ...


def test_what_fell_out_of_the_buffer_meanwhile_isnt_published(monkeypatch: pytest.MonkeyPatch) -> None:
    world = DrainWorld(max_len=6)
    world.fill([f"a-{n}" for n in range(6)])
    peek, looked = world.normal.peek, threading.Event()

    def look(limit: int) -> Sequence[bytes]:
        found = peek(limit)
        looked.set()
        return found

    monkeypatch.setattr(world.normal, "peek", look)
    world.drain(producer=PushedAside(world, [f"a-{n}" for n in range(6, 11)], looked), batch=3)
    assert world.arrived() == ["a-0", "a-1", "a-2", *(f"a-{n}" for n in range(5, 11))]
    assert len(world.normal.outbox(10)) == 2


def test_a_look_that_fails_costs_nothing_but_the_time() -> None:
    world = DrainWorld()
    world.fill([f"a-{n}" for n in range(9)])
    blind = Failing(world.normal, "peek", lambda: True)
    summary = world.drain(buffers={"crawl.normal": blind}, batch=2)
    assert world.arrived() == [f"a-{n}" for n in range(9)]
    assert summary.published == {"normal": 9}
