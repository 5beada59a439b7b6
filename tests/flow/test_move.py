"""Moving entries between bands: order kept, the message's own priority with it, nothing else touched."""

import pytest

from issuetracker_dagster.adapters.memory.queue import MemoryStageQueue
from issuetracker_dagster.adapters.memory.queue_steering import MemoryQueueSteering
from issuetracker_dagster.flow.move import move_members, move_ready, url_of
from issuetracker_dagster.model.message import Message, decode_envelope
from issuetracker_dagster.model.payload import ContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease, QueueEntry, queue_entry
from issuetracker_dagster.model.queue_view import MoveResult
from tests.flow.world import World, message


@pytest.fixture
def queue() -> MemoryStageQueue:
    return World().queue()


def of_host(root_id: str, host: str, priority: Priority = Priority.LOW) -> Message:
    value = encode_payload(ContentRef(content_id=1, url=f"https://{host}/{root_id}"))
    return Message(message(root_id, priority).headers, root_id.encode(), value)


def push(queue: MemoryStageQueue, *messages: Message) -> None:
    queue.push([queue_entry(each) for each in messages])


def claimed(queue: MemoryStageQueue) -> list[Lease]:
    return list(queue.claim("all", 100, 60_000).leases)


def test_a_whole_queue_moves_in_the_order_of_arrival(queue: MemoryStageQueue) -> None:
    given = [("a", Priority.LOW), ("b", Priority.HIGH), ("c", Priority.NORMAL), ("d", Priority.LOW)]
    push(queue, *(of_host(name, "x.com", priority) for name, priority in given))
    heard: list[MoveResult] = []
    assert move_ready(MemoryQueueSteering(queue), Priority.HIGH, told=heard.append) == MoveResult(moved=3)
    assert heard[-1] == MoveResult(moved=3)
    leases = claimed(queue)
    assert [lease.member for lease in leases] == ["a:0", "b:0", "c:0", "d:0"]
    assert {decode_envelope(lease.envelope).headers.priority for lease in leases} == {Priority.HIGH}


def test_only_the_hosts_own_entries_move_and_what_doesnt_decode_stays(queue: MemoryStageQueue) -> None:
    push(queue, of_host("a", "x.com"), of_host("b", "y.com"), of_host("c", "x.com"))
    queue.push([QueueEntry("junk", Priority.LOW, 0, b"\xff")])
    assert move_ready(MemoryQueueSteering(queue), Priority.NORMAL, host="x.com") == MoveResult(moved=2)
    assert [lease.member for lease in claimed(queue)] == ["a:0", "c:0", "b:0", "junk"]


def test_a_wildcard_means_every_host_below_its_domain_and_not_the_domain(queue: MemoryStageQueue) -> None:
    push(queue, *(of_host(host, host) for host in ("x.com", "a.x.com", "b.a.x.com", "ax.com")))
    assert move_ready(MemoryQueueSteering(queue), Priority.HIGH, host="*.x.com") == MoveResult(moved=2)
    assert [lease.member for lease in claimed(queue)][:2] == ["a.x.com:0", "b.a.x.com:0"]


def test_only_the_named_band_moves(queue: MemoryStageQueue) -> None:
    push(queue, of_host("a", "x.com"), of_host("b", "x.com", Priority.NORMAL), of_host("c", "y.com", Priority.NORMAL))
    steering = MemoryQueueSteering(queue)
    assert move_ready(steering, Priority.HIGH, from_band=Priority.HIGH) == MoveResult()
    only = move_ready(steering, Priority.HIGH, from_band=Priority.NORMAL, host="x.com")
    assert only == MoveResult(moved=1)
    assert [lease.member for lease in claimed(queue)] == ["b:0", "c:0", "a:0"]


def test_a_dry_run_counts_the_same_and_moves_nothing(queue: MemoryStageQueue) -> None:
    push(queue, of_host("a", "x.com"), of_host("b", "x.com", Priority.HIGH))
    queue.claim("one", 1, 60_000)
    steering = MemoryQueueSteering(queue)
    members = ["a:0", "b:0", "ghost:0"]
    counted = move_members(steering, members, Priority.NORMAL, dry_run=True)
    assert counted == MoveResult(moved=1, leased=1, gone=1)
    assert queue.depth().bands[Priority.LOW].ready == 1
    assert move_ready(steering, Priority.HIGH, dry_run=True) == MoveResult(moved=1)
    assert move_members(steering, members, Priority.NORMAL) == counted


def test_thousands_move_once_each(queue: MemoryStageQueue) -> None:
    names = [f"m{number:04}" for number in range(1_203)]
    push(queue, *(of_host(name, "x.com") for name in names))
    assert move_ready(MemoryQueueSteering(queue), Priority.NORMAL) == MoveResult(moved=1_203)
    found = MemoryQueueSteering(queue).peek(Priority.NORMAL, 5_000)
    assert [view.member for view in found] == [f"{name}:0" for name in names]
    assert url_of(found[0]) == "https://x.com/m0000"
