"""Settling: what is decided is done, onward first, then the acknowledgement."""

import pytest

from issuetracker_dagster.errors import NeedsRefetch, NotDue, PermanentError, TransientError, Unavailable, UrlBusy
from issuetracker_dagster.flow.settle import Deferred, Done, Kept, Later
from issuetracker_dagster.model.headers import TargetType, headers_from_raw
from issuetracker_dagster.model.outcome import Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage, Topic
from tests.flow.world import World, crawl_message, dlq_notes, message

CONTENT = ContentRef(content_id=9, url="https://news.example.com/root")


def payload_of(value: bytes) -> RawContentRef:
    return decode_payload(RawContentRef, value)


def test_an_outcome_goes_to_the_next_topic_with_all_headers_and_a_fresh_attempt() -> None:
    world = World()
    sent = message(priority=Priority.HIGH, attempt=3, generation=4, recrawl_count=2)
    settlement = world.settler(Stage.PARSER).settle(sent, payload_of(sent.value), Outcome(forward=CONTENT))
    assert settlement == Done(succeeded=True, kind="forwarded")
    (record,) = world.records(Topic.NORMALIZED)
    headers = headers_from_raw(record.headers)
    assert headers == sent.headers.evolve(attempt=1)
    assert record.key == b"root"
    assert decode_payload(ContentRef, record.value) == CONTENT


def test_links_of_a_page_are_published_without_its_priority() -> None:
    world = World()
    sent = message(priority=Priority.HIGH)
    links = (CrawlJob(url="https://news.example.com/x"),)
    world.settler(Stage.PARSER).settle(sent, None, Outcome(links=links, note="links"))
    (record,) = world.records(Topic.CRAWL_NORMAL)
    assert headers_from_raw(record.headers).trace_id == "trace"


def test_a_transient_error_waits_longer_each_time_and_dies_after_the_last_attempt() -> None:
    world = World()
    settler = world.settler(Stage.PARSER)
    delays = []
    current = message()
    for _ in range(2):
        settlement = settler.settle(current, None, TransientError("later"))
        (entry,) = world.retry_set.due(10**15)
        reason = "TransientError: later"
        assert settlement == Done(succeeded=False, kind="retried", reason=reason, due_ms=entry.due_ms)
        delays.append(entry.due_ms - world.clock.now_ms())
        world.retry_set.remove([entry])
        assert entry.message.headers.generation == current.headers.generation + 1
        assert entry.message.headers.attempt == current.headers.attempt + 1
        current = entry.message
    settler.settle(current, None, TransientError("later"))
    assert delays == [5_000, 10_000]
    assert world.retry_set.size() == 0
    (dead,) = world.records(Topic.DLQ)
    assert dlq_notes(dead)["reason"] == "attempts_exhausted"


@pytest.mark.parametrize(("priority", "topic"), [(Priority.HIGH, Topic.CRAWL_HIGH), (Priority.LOW, Topic.CRAWL_LOW)])
def test_a_failed_fetch_returns_to_the_topic_of_its_priority(priority: Priority, topic: Topic) -> None:
    world = World()
    world.settler(Stage.FETCH).settle(crawl_message("https://a.com/", priority=priority), None, TransientError("x"))
    assert world.retry_set.due(10**15)[0].topic == topic


def test_a_host_that_said_when_is_not_asked_before() -> None:
    world = World()
    at_ms = world.clock.now_ms() + 900_000
    world.settler(Stage.FETCH).settle(crawl_message("https://a.com/"), None, TransientError("429", retry_at_ms=at_ms))
    assert world.retry_set.due(10**15)[0].due_ms == at_ms


def test_a_permanent_error_is_dead_at_once_byte_for_byte() -> None:
    world = World()
    sent = message()
    world.settler(Stage.PARSER).settle(sent, None, PermanentError("gone", code="http_404"))
    (dead,) = world.records(Topic.DLQ)
    assert (dead.value, dead.key) == (sent.value, sent.key)
    assert [header for header in dead.headers if not header[0].startswith("dlq_")] == sent.headers.to_raw()
    notes = dlq_notes(dead)
    assert (notes["reason"], notes["stage"], notes["error"]) == ("http_404", "parser", "gone")
    assert (notes["source_topic"], notes["source_partition"], notes["source_offset"]) == ("fetched", "0", "1")


def test_a_recrawl_stays_a_category_with_its_crawler_timeout_and_priority() -> None:
    world = World()
    sent = message(priority=Priority.HIGH)
    world.settler(Stage.PARSER).settle(sent, payload_of(sent.value), NeedsRefetch("no body"))
    (entry,) = world.retry_set.due(10**15)
    job = decode_payload(CrawlJob, entry.message.value)
    headers = entry.message.headers
    assert entry.topic == Topic.CRAWL_HIGH
    assert (job.target_type, job.crawler, job.timeout_ms) == (TargetType.CATEGORY, "news", 7_000)
    assert job.unconditional
    assert job.metadata == {"failed_stage": "parser", "original_id": "root:0"}
    assert (headers.generation, headers.attempt, headers.recrawl_count) == (1, 1, 1)
    assert entry.message.key == b"news.example.com"


def test_recrawls_end_after_the_last_one() -> None:
    world = World()
    sent = message(recrawl_count=3)
    world.settler(Stage.PARSER).settle(sent, payload_of(sent.value), NeedsRefetch("no body"))
    assert world.retry_set.size() == 0
    assert dlq_notes(world.records(Topic.DLQ)[0])["reason"] == "recrawls_exhausted"


def test_a_busy_url_comes_back_shortly_with_its_attempt_unchanged() -> None:
    settlement = World().settler(Stage.PARSER).settle(message(), None, UrlBusy("busy"))
    assert settlement == Later(2_000, reason="busy")


def test_an_outage_uses_up_no_attempt() -> None:
    world = World()
    settlement = world.settler(Stage.PARSER).settle(message(attempt=3), None, Unavailable("SQL is out"))
    assert isinstance(settlement, Later)
    assert settlement.message is None
    assert world.records(Topic.DLQ) == []


def test_a_host_that_is_not_due_defers_its_job() -> None:
    settlement = World().settler(Stage.FETCH).settle(crawl_message("https://a.com/"), None, NotDue("a.com", 77, "rate"))
    assert settlement == Deferred("a.com", 77, reason="rate")


def test_a_bug_counts_as_transient_for_its_message() -> None:
    world = World()
    settlement = world.settler(Stage.PARSER).settle(message(), None, KeyError("bug"))
    assert isinstance(settlement, Done)
    assert (settlement.kind, settlement.reason) == ("retried", "KeyError: 'bug'")


class BrokenRetries:
    """A retry set whose server is out."""

    def schedule(self, entry: RetryEntry) -> None:
        raise Unavailable("Redis is out")


def test_a_retry_that_cannot_be_kept_goes_to_the_dlq_with_both_errors() -> None:
    world = World()
    world.retry_set.schedule = BrokenRetries().schedule  # type: ignore[method-assign]
    world.settler(Stage.PARSER).settle(message(), None, TransientError("page broken"))
    error = dlq_notes(world.records(Topic.DLQ)[0])["error"]
    assert "page broken" in error
    assert "Redis is out" in error


def test_with_retry_set_and_dlq_both_out_the_message_stays_leased() -> None:
    world = World()
    world.retry_set.schedule = BrokenRetries().schedule  # type: ignore[method-assign]
    world.broker.stop()
    settlement = world.settler(Stage.PARSER).settle(message(), None, TransientError("page broken"))
    assert isinstance(settlement, Later | Kept)


def test_a_forward_that_kafka_does_not_take_is_tried_again_without_an_attempt() -> None:
    world = World()
    world.broker.stop()
    settlement = world.settler(Stage.PARSER).settle(message(), None, Outcome(forward=CONTENT))
    assert isinstance(settlement, Later)
    assert (settlement.delay_ms, settlement.is_outage) == (5_000, True)
    assert settlement.reason
