"""A server that a handler needs is out: the messages wait, and it is asked at a bounded rate however many they are."""

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow import settle, work
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import QueueSource
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model import decision
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.queue import queue_entry
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import World, message
from tests.waiting import eventually

COUNT = 300
PAUSE_S = 0.2


class NeedsDatabase:
    """A handler whose database is out until it is back."""

    def __init__(self) -> None:
        self.is_back = False
        self.asked = 0

    def handle(self, payload: RawContentRef, context: HandlerContext) -> Outcome:
        self.asked += 1
        if not self.is_back:
            raise Unavailable("the database is out")
        return Outcome(forward=ContentRef(content_id=1, url=payload.url))

    def close(self) -> None:
        pass


def test_34_a_server_that_is_out_is_asked_about_once_a_second_and_slot_however_many_messages_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "OUTAGE_PAUSE_S", PAUSE_S)
    for module in (decision, settle):
        monkeypatch.setattr(module, "OUTAGE_DELAY_MS", 100)
    world = World(SystemClock())
    queue = world.queue()
    queue.push([queue_entry(message(f"m{number}")) for number in range(COUNT)])
    handler = NeedsDatabase()
    run: StageWork[RawContentRef] = StageWork(
        stage=Stage.PARSER, payload_type=RawContentRef, handler=handler, settler=world.settler(Stage.PARSER)
    )
    source = QueueSource(
        Stage.PARSER, queue, world.producer, world.clock, alone=world.alone_counts(), pop_timeout_ms=20
    )
    crew = Crew(run, [Pool(source, 2)], world.clock)
    crew.start()
    try:
        began = world.clock.monotonic()
        eventually(lambda: world.clock.monotonic() - began > 5 * PAUSE_S)
        assert 2 <= handler.asked <= 2 * 7
        handler.is_back = True
        eventually(lambda: len(world.records(Topic.NORMALIZED)) == COUNT)
    finally:
        crew.finish(2)
    assert not world.records(Topic.DLQ)
