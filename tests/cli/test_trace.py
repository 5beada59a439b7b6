"""`issuetracker trace`: a message is found wherever it is, with what it went through; who can't be asked is named."""

import json
from typing import Any

import pytest

from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.buffer import BufferedJob, encode_buffered
from issuetracker_dagster.model.letters import indexed
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import CrawlJob, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import queue_entry
from issuetracker_dagster.model.records import Content, RawContent
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.ports.traces import TraceLine
from issuetracker_dagster.wiring import whereabouts
from tests.cli.servers import NOBODY, Operator, at_servers, content_entry, content_message
from tests.cli.terminal import Terminal
from tests.dead_letters import junk, lying, written

pytestmark = pytest.mark.services
URL = "https://news.example.com/a"


@pytest.fixture
def at(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str) -> Operator:
    opened = at_servers(terminal, monkeypatch, clean_valkey_url, kafka_bootstrap)
    opened.wiring.ready()
    return opened


@pytest.fixture
def without_kafka(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str) -> Operator:
    return at_servers(terminal, monkeypatch, clean_valkey_url)


def crawl(root_id: str, url: str = URL, **headers: object) -> Message:
    message = content_message(root_id, url, **headers)  # type: ignore[arg-type]
    return Message(message.headers, b"news.example.com", encode_payload(CrawlJob(url=url)))


def traced(at: Operator, name: str, *words: str) -> Any:
    _, output = at.terminal.run("trace", name, "--json", *words)
    return json.loads(output)


def places(found: Any) -> list[tuple[str, str, str, int | None]]:
    return [(each["kind"], each["name"], each["state"], each["generation"]) for each in found["places"]]


def test_a_message_is_found_at_every_place_in_every_generation(at: Operator) -> None:
    wiring = at.wiring
    now_ms = wiring.heartbeats.now_ms()
    waiting = content_message("r", URL, generation=5, attempt=2)
    wiring.queue(Stage.VALIDATE).push([queue_entry(content_message("r", URL, Priority.HIGH, generation=1))])
    wiring.queue(Stage.ENRICH).push([queue_entry(content_message("r", URL, generation=2))])
    wiring.queue(Stage.ENRICH).claim("c", 1, 60_000)
    wiring.frontier.defer("news.example.com", queue_entry(crawl("r", generation=3)), now_ms + 60_000)
    wiring.retry_set.schedule(RetryEntry(now_ms + 60_000, "validated", Stage.ENRICH, 0, waiting))
    buffered = Outgoing.of(Topic.CRAWL_LOW, crawl("r", generation=6))
    wiring.buffers[Topic.CRAWL_LOW].push([encode_buffered(BufferedJob(now_ms, buffered)), b"junk"])
    wiring.producer.publish([Outgoing.of(Topic.FETCHED, content_message(f"m{n}", URL)) for n in range(50)])
    wiring.producer.publish([Outgoing.of(Topic.FETCHED, content_message("r", URL, generation=7))])
    letter = lying(written("r", at_ms=now_ms, generation=4, stage=Stage.PARSER, reason="empty"), 3, logged_ms=now_ms)
    wiring.stores.dead_letters.record([indexed(letter)])
    found = traced(at, "r")
    assert places(found) == [
        ("queue", "validate", "ready", 1),
        ("queue", "enrich", "leased", 2),
        ("frontier", "news.example.com", "ready", 3),
        ("retries", "validated", "waiting", 5),
        ("buffer", "crawl.low", "waiting", 6),
        ("dlq", "parser", "open", 4),
        ("topic", "fetched", "unread", 7),
    ]
    assert (found["roots"], found["url"], found["unasked"], found["incomplete"]) == (["r"], URL, {}, [])
    told = at.terminal.does("trace", "r:2")
    for words in (
        "in the queue of validate, ready, generation 1, high",
        "in the queue of enrich, in a worker's hands, generation 2",
        "failed in enrich, attempt 2 comes next",
        "a dead letter of parser, open, generation 4, letter 1, empty",
        "in the topic fetched, unread, or in the hands of a worker that reads Kafka itself, generation 7",
    ):
        assert words in told


def test_by_url_the_messages_of_its_page_are_found(at: Operator) -> None:
    wiring = at.wiring
    wiring.publisher.publish([Request(job=CrawlJob(url=f"{URL}?utm_source=x"), parent="p", priority=Priority.HIGH)])
    (root,) = traced(at, f"{URL}?utm_source=y")["roots"]
    found = traced(at, URL)
    assert (found["roots"], places(found)) == ([root], [("topic", "crawl.high", "unread", 0)])


def test_a_job_is_found_in_the_line_of_its_hosts_port_and_in_that_of_a_redirects_target(
    without_kafka: Operator,
) -> None:
    url, frontier = "http://127.0.0.1:8600/a", without_kafka.wiring.frontier
    later_ms = without_kafka.wiring.heartbeats.now_ms() + 60_000
    without_kafka.wiring.stores.message_trace.write(
        [line("r", "message.published", 1, detail=f"low by default: {url}")]
    )
    frontier.defer("127.0.0.1:8600", queue_entry(crawl("r", url)), later_ms)
    frontier.defer("www.example.com", queue_entry(crawl("r", url, generation=1)), later_ms)
    found = traced(without_kafka, "r")
    assert (found["url"], places(found)) == (
        url,
        [("frontier", "127.0.0.1:8600", "ready", 0), ("frontier", "www.example.com", "ready", 1)],
    )


def test_a_letter_without_an_identity_is_found_by_its_place_and_no_other_is(without_kafka: Operator) -> None:
    letters = [indexed(junk(offset)) for offset in (1, 17, 170)]
    without_kafka.wiring.stores.dead_letters.record(letters)
    (found,) = traced(without_kafka, "dlq:0:17")["places"]
    assert (found["kind"], found["root_id"], found["generation"]) == ("dlq", "dlq:0:17", None)


def test_the_number_of_a_letter_leads_to_the_letter(without_kafka: Operator) -> None:
    without_kafka.wiring.stores.dead_letters.record([indexed(junk(17))])
    assert "1 is the number of a dead letter: `issuetracker dlq show 1`" in without_kafka.terminal.fails("trace", "1")
    assert "dead letter" not in without_kafka.terminal.fails("trace", "2")


def test_a_finished_page_leads_to_its_content_and_issue(at: Operator) -> None:
    wiring = at.wiring
    raw_id = wiring.stores.raw_contents.save(
        RawContent(url=URL, requested_url=URL, status=200, body=b"x", fetched_ms=1, stored_by="r:0")
    )
    content = Content(raw_id=raw_id, root_id="r", url=URL, host="news.example.com", title="T", body="b", fetched_ms=1)
    content_id = wiring.stores.contents.save(content)
    for name in ("r", URL):
        found = traced(at, name)
        assert places(found) == [("content", str(content_id), "parsed", None)]
    assert "content 1, parsed, T" in at.terminal.does("trace", "r")


def line(root_id: str, action: str, at_ms: int, **fields: Any) -> TraceLine:
    return TraceLine(root_id=root_id, generation=fields.pop("generation", 0), action=action, at_ms=at_ms, **fields)


def test_steps_are_told_oldest_first_and_the_url_comes_from_the_first(without_kafka: Operator) -> None:
    at = without_kafka
    at.wiring.stores.message_trace.write(
        [
            line("r", "message.published", 1_000, detail=f"high by rule 12: {URL}"),
            line("r", "message.retried", 62_000, stage="fetch", detail="attempt 1 failed; again in 5s; timeout"),
            line("r", "message.forwarded", 70_000, stage="fetch", generation=1, detail="to fetched; took 12 ms"),
            line("link", "message.published", 80_000, trace_id="r", detail="normal by default: https://x.com/1"),
            line("link", "message.forwarded", 90_000, trace_id="r", stage="fetch"),
        ]
    )
    told = at.terminal.does("trace", "r")
    assert f"url        {URL}" in told
    steps = told[told.index("steps") :].splitlines()[1:]
    assert [step.split()[2:5] for step in steps] == [
        ["r:0", "-", "published"],
        ["r:0", "fetch", "retried"],
        ["r:1", "fetch", "forwarded"],
    ]
    assert steps[0].split()[:2] == ["1970-01-01", "00:00:01.000"]
    assert "attempt 1 failed; again in 5s; timeout" in steps[1]
    links = at.terminal.does("trace", "r", "--links")
    assert "1 messages of the same trace, each with its latest step" in links
    assert links.rstrip().splitlines()[-1].split()[2:5] == ["link:0", "fetch", "forwarded"]
    assert [each["root_id"] for each in traced(at, "r", "--links")["links"]] == ["link", "link"]


def test_a_reparse_is_found_far_among_the_generations_and_so_is_its_retry(without_kafka: Operator) -> None:
    wiring, generation = without_kafka.wiring, 29_411_000
    wiring.stores.message_trace.write(
        [line("r", "message.published", 1_000), line("r", "intake.stored", 90_000, generation=generation)]
    )
    wiring.queue(Stage.PARSER).push([queue_entry(content_message("r", URL, generation=generation))])
    again = content_message("r", URL, generation=generation + 1, attempt=2)
    wiring.retry_set.schedule(RetryEntry(wiring.heartbeats.now_ms() + 60_000, "fetched", Stage.PARSER, 0, again))
    assert places(traced(without_kafka, "r")) == [
        ("queue", "parser", "ready", generation),
        ("retries", "fetched", "waiting", generation + 1),
    ]


def test_a_trace_id_by_itself_leads_to_its_messages(without_kafka: Operator) -> None:
    without_kafka.wiring.stores.message_trace.write([line("a", "message.published", 1, trace_id="t")])
    assert traced(without_kafka, "t")["roots"] == ["a"]


def test_each_place_that_cant_be_asked_is_named_and_the_others_answer(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str
) -> None:
    at = at_servers(terminal, monkeypatch, clean_valkey_url)
    at.wiring.queue(Stage.PARSER).push([content_entry("r", URL)])
    found = traced(at, "r")
    assert places(found) == [("queue", "parser", "ready", 0)]
    assert set(found["unasked"]) == {
        "topic crawl.high", "topic crawl.normal", "topic crawl.low", "topic fetched", "topic normalized",
        "topic validated", "topic dlq",
    }  # fmt: skip
    assert "KAFKA_BOOTSTRAP_SERVERS" in found["unasked"]["topic fetched"]
    monkeypatch.setenv("REDIS_URL", f"redis://{NOBODY}/0")
    monkeypatch.setenv("DATABASE_URL", f"postgresql://nobody@{NOBODY}/none")
    lost = traced(at, "r")
    assert lost["places"] == []
    assert set(lost["unasked"]) >= {"queue parser", "frontier", "retries", "buffer crawl.low", "dead letters", "steps"}


def test_what_is_nowhere_says_so_and_ends_with_1(without_kafka: Operator) -> None:
    told = without_kafka.terminal.fails("trace", "nobody")
    assert "in none of the places that could be asked" in told
    assert "No steps are remembered" in told
    assert "none is known" in without_kafka.terminal.fails("trace", "https://news.example.com/unknown")
    assert "write the whole URL" in without_kafka.terminal.fails("trace", "http://")


def test_long_topics_and_buffers_are_looked_through_up_to_a_bound_and_it_says_so(
    at: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whereabouts, "MOST_RECORDS", 20)
    records = [Outgoing.of(Topic.VALIDATED, content_message(f"m{n}", URL)) for n in range(30)]
    at.wiring.producer.publish([*records, Outgoing.of(Topic.VALIDATED, content_message("r", URL))])
    jobs = [Outgoing.of(Topic.CRAWL_LOW, crawl(f"m{n}")) for n in range(30)]
    at.wiring.buffers[Topic.CRAWL_LOW].push([encode_buffered(BufferedJob(1, job)) for job in jobs])
    found = traced(at, "r")
    assert found["incomplete"] == ["buffer crawl.low", "topic validated"]
    assert "only the beginning was looked through" in at.terminal.run("trace", "r")[1]


def test_what_the_group_has_read_isnt_in_the_topic_any_more(at: Operator) -> None:
    at.wiring.producer.publish([Outgoing.of(Topic.VALIDATED, content_message("r", URL))])
    assert places(traced(at, "r")) == [("topic", "validated", "unread", 0)]
    assert at.wiring.intake(Stage.ENRICH).tick(3_000).stored == 1
    assert places(traced(at, "r")) == [("queue", "enrich", "ready", 0)]


def test_nothing_in_a_message_can_steer_the_terminal(without_kafka: Operator) -> None:
    at = without_kafka
    at.wiring.queue(Stage.PARSER).push([content_entry("r", "https://x.com/\x1b[2J")])
    at.wiring.stores.message_trace.write([line("r", "message.ended", 1, detail="\x1b]0;x\x07")])
    told = at.terminal.does("trace", "r")
    assert "\x1b" not in told
    assert "\x07" not in told
