"""The contracts of `MessageTrace` and `PublishedRecent`."""

from collections.abc import Iterator

import msgspec
import pytest

from issuetracker_dagster.adapters.memory.store_traces import MemoryMessageTrace, MemoryPublishedRecent
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.traces import SqlMessageTrace, SqlPublishedRecent
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.ports.traces import MessageTrace, PublishedJob, PublishedRecent, TraceLine
from tests.contracts.conftest import database_url
from tests.contracts.store_worlds import WORLDS, Stores


def line(number: int, root_id: str = "r", trace_id: str = "t") -> TraceLine:
    return TraceLine(
        root_id=root_id, generation=0, trace_id=trace_id, stage="parser", action="message.forwarded",
        detail=f"step {number}", at_ms=number,
    )  # fmt: skip


def job(number: int) -> PublishedJob:
    return PublishedJob(
        url=f"https://a.com/{number}", host="a.com", target_type=TargetType.FEED, priority=1, decided_by="rule 3",
        at_ms=number,
    )  # fmt: skip


def test_a_trace_is_found_by_root_and_by_trace_oldest_first(stores: Stores) -> None:
    stores.message_trace.write([line(1), line(2, root_id="child"), line(3, "other", "other")])
    stores.message_trace.write([line(4)])
    stores.message_trace.write([])
    assert list(stores.message_trace.of("r", 10)) == [line(1), line(4)]
    assert list(stores.message_trace.of("t", 10)) == [line(1), line(2, root_id="child"), line(4)]
    assert list(stores.message_trace.of("t", 2)) == [line(2, root_id="child"), line(4)]
    assert list(stores.message_trace.of("nobody", 2)) == []


def test_steps_that_were_written_late_are_in_their_place_and_those_of_one_moment_as_written(stores: Stores) -> None:
    stores.message_trace.write([line(7), line(3)])
    same = [line(5), msgspec.structs.replace(line(5), detail="after")]
    stores.message_trace.write(same)
    assert list(stores.message_trace.of("r", 10)) == [line(3), *same, line(7)]
    assert list(stores.message_trace.of("r", 3)) == [line(3), *same]


def test_a_line_is_kept_as_it_is_whatever_it_says(stores: Stores) -> None:
    odd = [
        msgspec.structs.replace(line(1), detail=text)
        for text in ("", 'it\'s "so" \\ {1} $.x :rows ?', "속보 🗞", "null")
    ]
    odd += [msgspec.structs.replace(line(1), at_ms=2**52, generation=7)]
    stores.message_trace.write(odd)
    assert list(stores.message_trace.of("r", 10)) == odd


def test_published_jobs_come_newest_first(stores: Stores) -> None:
    stores.published_recent.write([job(1), job(2)])
    stores.published_recent.write([])
    stores.published_recent.write([job(3)])
    assert list(stores.published_recent.latest(2)) == [job(3), job(2)]


@pytest.fixture(params=WORLDS)
def capped(request: pytest.FixtureRequest) -> Iterator[tuple[MessageTrace, PublishedRecent]]:
    """Both, with room for ten."""
    if request.param == "memory":
        yield MemoryMessageTrace(10), MemoryPublishedRecent(10)
        return
    engine = connect(database_url(request, request.param))
    yield SqlMessageTrace(engine, 10), SqlPublishedRecent(engine, 10)
    engine.dispose()


def test_the_oldest_beyond_the_cap_go(capped: tuple[MessageTrace, PublishedRecent]) -> None:
    trace, published = capped
    for start in (0, 60):
        trace.write([line(start + number) for number in range(60)])
        published.write([job(start + number) for number in range(60)])
    assert [found.at_ms for found in trace.of("r", 99)] == list(range(110, 120))
    assert [found.at_ms for found in published.latest(99)] == list(range(119, 109, -1))
