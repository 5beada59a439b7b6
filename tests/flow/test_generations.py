"""One message through several lives: its next generation is another member, and its counts travel through every hop."""

from issuetracker_dagster.errors import NeedsRefetch, TransientError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.message import Message, decode_envelope, message_of
from issuetracker_dagster.model.outcome import Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import Lease
from issuetracker_dagster.model.retry import RetryPolicy
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage, Topic
from tests.flow.world import World, dlq_notes, message

LONG_MS = 3_600_000
LEASE_MS = 10 * LONG_MS


class Looping(World):
    """With a parser queue that is filled by its intake, and retries that fall due when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.line = self.queue()
        self._intake = self.intake(self.line)
        self._claims = 0

    def claimed(self) -> list[Lease]:
        """Take in what lies in Kafka, and claim all of it."""
        self._intake.tick(1_000)
        self._claims += 1
        return list(self.line.claim(f"claim{self._claims}", 9, LEASE_MS).leases)

    def retries_fall_due(self) -> int:
        self.fake_clock.advance(LONG_MS)
        return self.retries.relay()


def test_43_a_retry_is_its_own_member_beside_the_copy_that_is_still_leased() -> None:
    world = Looping()
    world.send(Topic.FETCHED, message("page"))
    (first,) = world.claimed()
    failed = decode_envelope(first.envelope)
    assert world.settler(Stage.PARSER).settle(failed, None, TransientError("later")).kind == "retried"
    assert world.retries_fall_due() == 1
    (second,) = world.claimed()  # while the worker of the first one hasn't acknowledged it yet
    assert (first.member, second.member) == ("page:0", "page:1")
    assert world.line.ack([first]) == ()
    assert world.line.depth().leased == 1
    assert decode_envelope(second.envelope).headers.attempt == 2
    assert world.line.ack([second]) == ()
    assert world.line.depth().total == 0


def test_37_recrawls_are_counted_through_retry_set_fetch_kafka_and_queue_until_the_last_one() -> None:
    world = Looping()
    world.send(Topic.FETCHED, message("page", Priority.LOW, timeout_ms=7_000))
    counts: list[int] = []
    while not world.records(Topic.DLQ):
        (lease,) = world.claimed()
        found = decode_envelope(lease.envelope)
        counts.append(found.headers.recrawl_count)
        payload = decode_payload(RawContentRef, found.value)
        world.settler(Stage.PARSER).settle(found, payload, NeedsRefetch("the page can't be read"))
        world.line.ack([lease])
        if world.retries_fall_due():
            fetched_again(world)
    assert counts == list(range(RetryPolicy().recrawl_max + 1))
    (letter,) = world.records(Topic.DLQ)
    assert dlq_notes(letter)["reason"] == "recrawls_exhausted"
    last = message_of(letter).headers
    assert (last.recrawl_count, last.root_id, last.priority) == (RetryPolicy().recrawl_max, "page", Priority.LOW)
    assert (last.target_type, last.timeout_ms, last.trace_id) == (TargetType.CATEGORY, 7_000, "trace")


def fetched_again(world: World) -> None:
    """What fetch does with the newest job of its topic."""
    job: Message = max(
        (message_of(record) for record in world.records(CRAWL_TOPICS[Priority.LOW])),
        key=lambda found: found.headers.generation,
    )
    url = decode_payload(CrawlJob, job.value).url
    page = RawContentRef(
        raw_id=1, url=url, requested_url=url, target_type=job.headers.target_type or TargetType.ARTICLE, fetched_ms=1
    )
    world.settler(Stage.FETCH).settle(job, decode_payload(CrawlJob, job.value), Outcome(forward=page))
