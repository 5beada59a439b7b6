"""What a pipeline tells about its messages: figures under every name, and a trace that a person can follow."""

import logging
import subprocess
import sys
import threading
from collections.abc import Sequence

import msgspec
import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.errors import (
    NeedsRefetch,
    NotDue,
    PermanentError,
    PublishFailed,
    RecordsRefused,
    TransientError,
    Unavailable,
    UrlBusy,
)
from issuetracker_dagster.flow import telemetry as telemetry_module
from issuetracker_dagster.flow.reap import empty_outbox
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.flow.telemetry import Telemetry
from issuetracker_dagster.flow.watched import WatchedProducer, is_letter
from issuetracker_dagster.model.message import Message, Origin, Outgoing, decode_envelope, message_of
from issuetracker_dagster.model.metrics import METRICS, Kind
from issuetracker_dagster.model.outcome import Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import PushResult, queue_entry
from issuetracker_dagster.model.readings import Batch
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.ports.traces import TraceLine
from tests.flow.told import Told, read
from tests.flow.world import crawl_message, message
from tests.waiting import eventually

CONTENT = Outcome(forward=ContentRef(content_id=1, url="https://news.example.com/root"))


@pytest.fixture
def told() -> Told:
    return Told()


def fetched(told: Told, result: Outcome | Exception, url: str = "https://a.com/page") -> str:
    return told.handles(Stage.FETCH, read(came(told, crawl_message(url))), result)


def came(told: Told, sent: Message) -> Message:
    """The message as it came from Kafka a second ago."""
    origin = Origin("crawl.normal", 0, 1, told.clock.now_ms() - 1_000)
    return msgspec.structs.replace(sent, origin=origin)


def claimed(told: Told, *, acks: Sequence[Delivery] = (), lease_ms: int = 60_000) -> list[Delivery]:
    leases = told.parser_queue.claim(f"claim{told.clock.now_ms()}", 10, lease_ms, [one.receipt for one in acks]).leases  # type: ignore[misc]
    return [Delivery(decode_envelope(lease.envelope), lease) for lease in leases]


def test_a_message_leaves_a_trace_from_its_publish_to_its_stage(told: Told) -> None:
    told.switch.turn(on=True)
    publisher = told.tells(told.publisher())

    def buffered(records: Sequence[Outgoing]) -> None:
        told.fake_clock.advance(1)  # it took the disk that long
        told.steps.buffered(records)

    publisher._producer = told.first_publisher(buffered=buffered)
    (sent,) = publisher.publish([Request(job=CrawlJob(url="https://a.com/page"), parent="p")]).published
    told.fake_clock.advance(89_999)
    told.drain(drained=told.steps.drained)
    (job,) = told.records(Topic.CRAWL_NORMAL)
    page = RawContentRef(
        raw_id=1, url="https://a.com/page", requested_url="https://a.com/page",
        target_type=sent.headers.target_type, fetched_ms=1,
    )  # fmt: skip
    assert told.handles(Stage.FETCH, Delivery(message_of(job), job), Outcome(forward=page)) == "forwarded"
    assert told.intake(told.parser_queue).tick(1).stored == 1  # type: ignore[arg-type]
    (delivery,) = claimed(told)
    assert told.handles(Stage.PARSER, delivery, CONTENT) == "forwarded"
    assert told.trace(sent.headers.root_id) == [
        "message.published normal by default: https://a.com/page",
        "buffer.stored",
        "drain.published after 1m 30s in the buffer",
        "fetch message.forwarded to fetched; took 2000 ms",
        "parser intake.stored",
        "parser message.forwarded to normalized; took 2000 ms",
    ]


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (Outcome(note="unchanged"), "message.ended unchanged; took 2000 ms"),
        (Outcome(note="rejected VAL_003"), "message.rejected rejected VAL_003; took 2000 ms"),
        (TransientError("slow"), "message.retried attempt 1 failed; again in 5s; TransientError: slow; took 2000 ms"),
        (NeedsRefetch("cut off"), "message.recrawled attempt 1 failed; again in 5s; cut off; took 2000 ms"),
        (NotDue("a.com", 10**13, "rate"), "message.deferred a.com isn't due for"),
        (UrlBusy("held"), "message.came_back again in 2s; held; took 2000 ms"),
        (PermanentError("404", code="http_404"), "message.dead_lettered http_404: 404"),
        (KeyError("x"), "message.retried attempt 1 failed; again in 5s; KeyError: 'x'; took 2000 ms"),
    ],
)
def test_each_end_of_a_message_says_why_and_when_again(told: Told, result: Outcome | Exception, line: str) -> None:
    told.handles(Stage.PARSER, read(message()), result)
    (shown,) = told.trace()
    assert shown.startswith(f"parser {line}")


def test_a_retry_and_a_redrive_are_told_when_they_go_back_to_kafka(told: Told) -> None:
    told.handles(Stage.PARSER, read(message()), TransientError("slow"))
    told.fake_clock.advance(10_000)
    told.retries.relay()
    told.steps.redriven([Outgoing.of(Topic.FETCHED, message(generation=2))])
    assert told.trace()[1:] == ["relay.published to fetched", "message.redriven to fetched"]
    assert told.total("issuetracker_relayed_total", topic="fetched") == 1
    assert told.total("issuetracker_redriven_total", topic="fetched") == 1


def test_what_a_full_queue_gives_up_is_told_by_its_letter() -> None:
    told = Told(max_size=2)
    told.parser_queue.push([queue_entry(message(name)) for name in ("a", "b", "c")])
    assert empty_outbox(told.parser_queue, Stage.PARSER, told.producer, told.clock) == 1
    (line,) = told.trace("a")[1:]
    assert line.startswith("parser message.dead_lettered overflow: the queue was full")
    assert told.total("issuetracker_evicted_total", stage="parser") == 1
    assert told.total("issuetracker_dead_letters_total", stage="parser", reason="overflow") == 1


def test_claims_are_counted_and_timed_by_stage_and_priority(told: Told) -> None:
    told.parser_queue.push([queue_entry(message("h", Priority.HIGH)), queue_entry(message("l", Priority.LOW))])
    told.fake_clock.advance(3_000)
    assert len(claimed(told)) == 2
    fetched(told, Outcome(note="unchanged"))
    readings = told.readings()
    assert readings.by("issuetracker_claims_total", "priority", stage="parser") == {"high": 1, "low": 1}
    assert readings.by("issuetracker_claims_total", "priority", stage="fetch") == {"normal": 1}
    assert readings.histogram("issuetracker_pop_latency_seconds", stage="parser", priority="high").sum_s == 3
    assert readings.histogram("issuetracker_pop_latency_seconds", stage="fetch").sum_s == 1


def test_leases_are_counted_by_what_became_of_them(told: Told) -> None:
    told.parser_queue.push([queue_entry(message(name)) for name in ("acked", "nacked", "released", "lost")])
    acked, nacked, released, lost = claimed(told, lease_ms=1_000)
    told.parser_queue.nack(nacked.receipt, 99_000)  # type: ignore[arg-type]
    told.parser_queue.release([released.receipt])  # type: ignore[list-item]
    told.parser_queue.ack([acked.receipt])  # type: ignore[list-item]
    told.fake_clock.advance(2_000)
    told.parser_queue.reap()
    again = claimed(told, acks=[lost])
    told.fake_clock.advance(1)
    again += claimed(told)
    assert {one.message.headers.root_id for one in again} == {"released", "lost"}
    readings = told.readings()
    assert {
        name: readings.total(name, stage="parser")
        for name in METRICS
        if name.startswith(("issuetracker_acks", "issuetracker_nacks", "issuetracker_rel", "issuetracker_leases"))
        and METRICS[name].labels == ("stage",)
    } == {
        "issuetracker_acks_total": 1,
        "issuetracker_acks_refused_total": 1,
        "issuetracker_nacks_total": 1,
        "issuetracker_releases_total": 1,
        "issuetracker_leases_expired_total": 1,
    }


def test_bugs_and_hung_handlers_are_counted_beside_what_became_of_their_messages(told: Told) -> None:
    told.handles(Stage.PARSER, read(message()), KeyError("x"))
    readings = told.readings()
    assert readings.by("issuetracker_handler_faults_total", "fault") == {"bug": 1}
    assert readings.by("issuetracker_handled_total", "outcome") == {"retried": 1}
    assert readings.histogram("issuetracker_handler_seconds", stage="parser").sum_s == 2


def test_fetches_are_counted_by_host_and_outcome_and_a_host_that_isnt_due_isnt_asked(told: Told) -> None:
    for result in (
        Outcome(note="unchanged"), PermanentError("gone", code="http_410"), TransientError("reset"),
        NotDue("a.com", 10**13, "rate"),
    ):  # fmt: skip
        fetched(told, result)
    fetched(told, Outcome(note="unchanged"), url="https://b.com/")
    by_host = {
        host: told.readings().by("issuetracker_fetches_total", "outcome", host=host) for host in ("a.com", "b.com")
    }
    assert by_host == {"a.com": {"unchanged": 1, "http_410": 1, "failed": 1}, "b.com": {"unchanged": 1}}


def test_the_time_from_publish_to_enriched_is_that_of_the_whole_journey(told: Told) -> None:
    began_ms = told.clock.now_ms()
    told.fake_clock.advance(58_000)
    content = message(first_published_ms=began_ms)
    content = msgspec.structs.replace(content, value=b'{"v":1,"content_id":1,"url":"https://a.com/"}')
    told.handles(Stage.ENRICH, read(content), CONTENT)
    told.handles(Stage.VALIDATE, read(content), CONTENT)
    timed = told.readings().histogram("issuetracker_publish_to_enriched_seconds", priority="normal")
    assert (timed.count, timed.sum_s) == (1, 60)


@pytest.mark.parametrize("refused", [True, False])
def test_letters_are_told_as_far_as_the_broker_has_them(told: Told, refused: bool) -> None:
    class Picky:
        def publish(self, records: Sequence[Outgoing]) -> None:
            if refused:
                raise RecordsRefused("too large", refused=records[:1])
            raise PublishFailed("no leader", arrived=records[1:])

        def close(self) -> None:
            pass

    letter = Outgoing(Topic.DLQ, None, b"", [("root_id", b"root"), ("dlq_reason", b"x"), ("dlq_stage", b"fetch")])
    other = Outgoing(Topic.DLQ, None, b"", letter.headers)
    with pytest.raises((RecordsRefused, PublishFailed)):
        WatchedProducer(Picky(), meant=is_letter, told=told.steps.buried).publish([letter, other])
    assert told.total("issuetracker_dead_letters_total", stage="fetch", reason="x") == 1


def test_hostile_headers_neither_forge_a_reason_nor_break_a_database(told: Told) -> None:
    headers = [("root_id", b"root"), ("generation", b"9" * 16), ("trace_id", b"\x00" * 999)]
    headers += [("dlq_reason", b"forged"), ("dlq_stage", b"fetch")]
    ours = [("dlq_reason", b"malformed"), ("dlq_stage", b"parser"), ("dlq_error", b"\x00\xff" + b"e" * 5_000)]
    told.steps.buried([Outgoing(Topic.DLQ, None, b"", [*headers, *ours])])
    told.steps.buried([Outgoing(Topic.DLQ, None, b"", [("root_id", b"\xff"), *ours])])
    assert told.readings().by("issuetracker_dead_letters_total", "reason") == {"malformed": 2}
    (line,) = told.stores.message_trace.of("root", 10)
    assert line.detail.isprintable()
    assert line.trace_id.isprintable()
    assert len(line.detail) <= 300
    assert line.generation < 2**31
    told.steps.stored(Stage.PARSER, [queue_entry(message("root", generation=10**15))], PushResult(1))
    told.telemetry.flush()
    assert {line.generation for line in told.stores.message_trace.of("root", 10)} == {2**31 - 1}


def overflows(told: Told) -> None:
    told.parser_queue.push([queue_entry(message(name)) for name in "abc"])
    empty_outbox(told.parser_queue, Stage.PARSER, told.producer, told.clock)
    told.telemetry._count_dropped(1)


def test_every_stored_metric_is_told_by_somebody(caplog: pytest.LogCaptureFixture) -> None:
    named: set[str] = set()
    for happens in (
        test_a_message_leaves_a_trace_from_its_publish_to_its_stage,
        test_leases_are_counted_by_what_became_of_them,
        test_a_retry_and_a_redrive_are_told_when_they_go_back_to_kafka,
        test_the_time_from_publish_to_enriched_is_that_of_the_whole_journey,
        test_bugs_and_hung_handlers_are_counted_beside_what_became_of_their_messages,
        overflows,
    ):
        told = Told(max_size=2) if happens is overflows else Told()
        happens(told)
        named |= {cell.name for cell in told.readings().cells}
    assert named == {name for name, metric in METRICS.items() if metric.kind is not Kind.GAUGE}
    assert not [record for record in caplog.records if getattr(record, "action", "") == "telemetry.bug"]


def test_a_bug_in_what_is_told_is_logged_and_costs_no_message_its_work(
    told: Told, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(told.telemetry._meter, "count", lambda *_, **__: 1 / 0)
    assert told.handles(Stage.PARSER, read(message()), CONTENT) == "forwarded"
    assert {record.__dict__["action"] for record in caplog.records} == {"telemetry.bug"}


class Servers:
    """Redis and SQL as telemetry sees them."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.lines: list[TraceLine] = []
        self.fails: Exception | None = None

    def add(self, batch: Batch) -> None:
        if self.fails:
            raise self.fails
        self.batches.append(batch)

    def write(self, lines: Sequence[TraceLine]) -> None:
        if self.fails:
            raise self.fails
        self.lines += lines


def started(servers: Servers) -> Telemetry:
    made = Telemetry(add=servers.add, write=servers.write, clock=SystemClock())
    made.start()
    return made


def test_what_was_told_is_handed_over_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_module, "FLUSH_EVERY_S", 0.01)
    servers = Servers()
    telemetry = started(servers)
    telemetry.steps.redriven([Outgoing.of(Topic.FETCHED, message())])
    eventually(lambda: servers.batches and servers.lines)
    telemetry.close()


def test_the_rest_is_handed_over_at_the_end() -> None:
    servers = Servers()
    telemetry = started(servers)
    telemetry.steps.redriven([Outgoing.of(Topic.FETCHED, message())])
    telemetry.close()
    assert len(servers.batches) == len(servers.lines) == 1


def test_a_server_that_hangs_holds_up_nobody_and_the_end_for_its_bound_only() -> None:
    hangs, is_over = threading.Event(), threading.Event()

    def hang(_: object) -> None:
        hangs.set()
        is_over.wait(60)

    telemetry = Telemetry(add=hang, write=hang, clock=SystemClock())
    telemetry.start()
    telemetry.steps.nacked(Stage.PARSER)
    telemetry._wake.set()
    assert hangs.wait(30)
    for _ in range(1_000):
        telemetry.steps.nacked(Stage.PARSER)
        telemetry.steps.redriven([Outgoing.of(Topic.FETCHED, message())])
    telemetry.close(timeout_s=0.01)
    assert telemetry._thread.is_alive()
    is_over.set()
    telemetry._thread.join(30)


def test_an_outage_is_told_once_and_ends_without_a_loss(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    servers = Servers()
    telemetry = Telemetry(add=servers.add, write=servers.write, clock=SystemClock())
    servers.fails = Unavailable("Redis is out")
    for _ in range(3):
        telemetry.steps.nacked(Stage.PARSER)
        telemetry.flush()
    servers.fails = None
    telemetry.flush()
    assert sum(sum(batch.amounts.values()) for batch in servers.batches) == 3
    told_of = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.__dict__["action"] for record in told_of] == ["telemetry.waits"]


def test_a_bug_costs_its_batch_and_not_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry_module, "FLUSH_EVERY_S", 0.01)
    servers = Servers()
    telemetry = started(servers)
    servers.fails = KeyError("bug")
    telemetry.steps.nacked(Stage.PARSER)
    eventually(lambda: not telemetry._meter._counts and telemetry._meter._unsent is None)
    servers.fails = None
    telemetry.steps.nacked(Stage.PARSER)
    eventually(lambda: servers.batches)
    telemetry.close()


ENDS = """
from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.flow.telemetry import Telemetry
from issuetracker_dagster.model.stage import Stage

telemetry = Telemetry(add=lambda batch: print(sum(batch.amounts.values())), write=print, clock=SystemClock())
telemetry.start()
telemetry.steps.nacked(Stage.PARSER)
"""


def test_a_process_that_just_ends_hands_over_first() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "1\n"
