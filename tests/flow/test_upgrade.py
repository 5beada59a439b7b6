"""A host whose pages come out empty is switched to rendering, and its pages are published once more."""

import logging
from collections.abc import Sequence

import pytest

from issuetracker_dagster.errors import PermanentError, Unavailable
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.flow.resolve import priority_table
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.flow.settle import Done, Later, Settlement
from issuetracker_dagster.model.headers import TargetType, headers_from_raw
from issuetracker_dagster.model.message import Message, Record
from issuetracker_dagster.model.outcome import EMPTY, EMPTY_BODY, Outcome
from issuetracker_dagster.model.payload import ContentRef, CrawlJob, RawContentRef, decode_payload, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode, FetcherRule, PriorityRule
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage, Topic
from issuetracker_dagster.ports.hosts import EmptyPage
from tests.flow.world import World, message

HOST = "news.example.com"
NOTHING = PermanentError("neither a title nor a body on the page", code=EMPTY)
TITLE_ONLY = Outcome(forward=ContentRef(content_id=9, url="https://news.example.com/a"), note=EMPTY_BODY)


def page(root_id: str, url: str = "", source: str = "example-feed", priority: Priority = Priority.NORMAL) -> Message:
    """What fetch sends about an article."""
    url = url or f"https://{HOST}/world/{root_id}"
    payload = RawContentRef(
        raw_id=1, url=url, requested_url=url, target_type=TargetType.ARTICLE, fetched_ms=1, source=source, depth=3
    )
    sent = message(root_id, priority, target_type=TargetType.ARTICLE, trace_id=f"trace-{root_id}")
    return Message(sent.headers, sent.key, encode_payload(payload), sent.origin)


def settle(world: World, sent: Message, result: Outcome | BaseException = NOTHING) -> Settlement:
    return world.settler(Stage.PARSER).settle(sent, decode_payload(RawContentRef, sent.value), result)


def empties(world: World, count: int = 5, source: str = "example-feed") -> list[Settlement]:
    return [settle(world, page(f"p{number}", source=source)) for number in range(count)]


def crawled(world: World) -> list[Record]:
    return [record for topic in CRAWL_TOPICS.values() for record in world.records(topic)]


def jobs(records: Sequence[Record]) -> list[CrawlJob]:
    return [decode_payload(CrawlJob, record.value) for record in records]


def test_the_fifth_empty_page_switches_its_host_and_publishes_the_pages_again(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    empties(world, 4)
    assert crawled(world) == []
    assert world.stores.parser_rules.fetcher_rule(HOST) is None
    with caplog.at_level(logging.WARNING):
        settle(world, page("p4"))
    expected = FetcherRule(host_pattern=HOST, timeout_ms=9_000, rendering=True, source="auto")
    assert world.stores.parser_rules.fetcher_rule(HOST) == expected
    assert {job.url for job in jobs(crawled(world))} == {f"https://{HOST}/world/p{number}" for number in range(5)}
    assert [record.__dict__["count"] for record in caplog.records if getattr(record, "action", "") == "host.upgraded"]


def test_a_page_with_neither_title_nor_body_and_one_with_a_title_only_both_count_and_go_their_normal_way() -> None:
    world = World()
    results: list[Outcome | BaseException] = [NOTHING, TITLE_ONLY, NOTHING, TITLE_ONLY, NOTHING]
    settled = [settle(world, page(f"p{number}"), result) for number, result in enumerate(results)]
    dead, stored = Done(succeeded=False, kind="dead_lettered", reason="empty"), Done(succeeded=True, kind="forwarded")
    assert settled == [dead, stored, dead, stored, dead]
    assert (len(world.records(Topic.DLQ)), len(world.records(Topic.NORMALIZED)), len(crawled(world))) == (3, 2, 5)


def test_other_ends_of_pages_do_not_count() -> None:
    world = World()
    other: list[Outcome | BaseException] = [
        PermanentError("a picture", code="not_text"),
        Outcome(forward=TITLE_ONLY.forward),
        Outcome(note="no_links"),
        KeyError("bug"),
        Unavailable("SQL is out"),
    ]
    for number in range(25):
        settle(world, page(f"p{number}"), other[number % 5])
    assert crawled(world) == []


def test_an_upgraded_job_is_a_new_root_that_is_fetched_whatever_is_stored() -> None:
    world = World()
    empties(world)
    (record,) = (one for one in crawled(world) if decode_payload(CrawlJob, one.value).url.endswith("/p2"))
    job, headers = decode_payload(CrawlJob, record.value), headers_from_raw(record.headers)
    assert job.unconditional
    assert job.metadata == {"upgrade": "rendering"}
    assert (job.source, job.depth, job.target_type) == ("example-feed", 3, TargetType.ARTICLE)
    assert (job.crawler, job.timeout_ms) == ("news", 7_000)
    assert (headers.trace_id, headers.attempt, headers.generation) == ("trace-p2", 1, 0)
    assert headers.root_id != "p2"
    assert record.key == HOST.encode()


def test_an_upgrade_does_not_inherit_the_priority_of_its_page() -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host=HOST, path="^/world/p[01]$", priority=Priority.LOW)])
    for number in range(5):
        settle(world, page(f"p{number}", source="", priority=Priority.HIGH))
    found = {job.url[-2:]: job.source for job in jobs(world.records(Topic.CRAWL_LOW))}
    assert found == {"p0": "upgrade", "p1": "upgrade"}
    assert len(world.records(Topic.CRAWL_NORMAL)) == 3
    for record in crawled(world):
        assert CRAWL_TOPICS[headers_from_raw(record.headers).priority].value == record.origin.topic


def test_an_upgrade_passes_dedupe_by_but_not_the_blacklist() -> None:
    world = World()
    world.blacklist = HostTable([(HOST, "^/world/p3$", BlacklistMode.DROP)])
    job = CrawlJob(url=f"https://{HOST}/world/p1")
    world.publisher().publish([_first_publish(job)])
    empties(world)
    urls = [found.url[-2:] for found in jobs(crawled(world)) if found.unconditional]
    assert sorted(urls) == ["p0", "p1", "p2", "p4"]


def test_the_rule_that_applied_is_inherited_and_stays_as_it_was() -> None:
    world = World()
    applied = FetcherRule(
        host_pattern="*.example.com", requests_per_hour=60, burst=1, user_agent="desk", source="manual"
    )
    world.stores.parser_rules.save_fetcher_rule(applied)
    empties(world)
    switched = world.stores.parser_rules.fetcher_rule(HOST)
    assert switched == FetcherRule(
        host_pattern=HOST, requests_per_hour=60, burst=1, user_agent="desk", rendering=True, source="auto"
    )
    assert world.stores.parser_rules.fetcher_rule("other.example.com") == applied


def test_a_host_that_is_switched_already_is_left_alone_so_that_upgrades_never_loop() -> None:
    world = World()
    empties(world)
    before = len(crawled(world))
    for number in range(100):
        settle(world, page(f"again{number}"))
        world.fake_clock.advance(60_000)
    assert len(crawled(world)) == before
    world = World()
    world.stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern="*.example.com", rendering=True))
    empties(world, 30)
    assert crawled(world) == []


def test_a_url_that_came_out_empty_twice_is_published_once() -> None:
    world = World()
    for number in range(5):
        settle(world, page(f"p{number}", url=f"https://{HOST}/front"))
    assert len(crawled(world)) == 1


def test_the_message_waits_until_kafka_has_the_upgrade_and_nothing_is_published_twice_under_other_ids() -> None:
    world = World()
    empties(world, 4)
    last = page("p4")
    world.broker.stop()
    for _ in range(2):
        settlement = settle(world, last)
        assert isinstance(settlement, Later)
        assert (settlement.delay_ms, settlement.is_outage) == (5_000, True)
    world.broker.start()
    assert settle(world, last) == Done(succeeded=False, kind="dead_lettered", reason="empty")
    assert len({headers_from_raw(record.headers).root_id for record in crawled(world)}) == 5
    rule = world.stores.parser_rules.fetcher_rule(HOST)
    assert rule is not None
    assert rule.rendering


def test_killed_between_the_rule_and_the_publish_the_redelivered_message_does_the_rest() -> None:
    world = World()
    empties(world, 4)
    last = page("p4")
    world.broker.stop()
    settle(world, last)  # the rule is saved, the worker dies, nothing was published
    world.broker.start()
    settle(world, page("p5"))
    assert crawled(world) == []
    settle(world, last)
    assert {job.url[-2:] for job in jobs(crawled(world))} == {"p0", "p1", "p2", "p3", "p4", "p5"}
    settle(world, last)
    assert len(crawled(world)) == 6


class RedisIsOut:
    """`EmptyPages` of a server that is out."""

    def note(self, host: str, page: EmptyPage, *, switched: bool) -> Sequence[EmptyPage]:
        raise Unavailable("Redis is out")

    def upgraded(self, host: str) -> None:
        raise Unavailable("Redis is out")


def test_without_redis_there_is_no_upgrade_and_messages_go_their_normal_way() -> None:
    world = World()
    world.empty_pages = RedisIsOut()  # type: ignore[assignment]
    assert empties(world, 6) == [Done(succeeded=False, kind="dead_lettered", reason="empty")] * 6
    assert crawled(world) == []


def test_what_was_published_counts_though_redis_is_out_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(world.empty_pages, "upgraded", RedisIsOut().upgraded)
    assert empties(world, 10) == [Done(succeeded=False, kind="dead_lettered", reason="empty")] * 10
    assert len(crawled(world)) == 5


def test_a_host_that_can_have_no_rule_costs_no_message_its_life(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()

    def refuse(rule: FetcherRule) -> None:
        raise PermanentError("the host is none", code="invalid_rule")

    monkeypatch.setattr(world.stores.parser_rules, "save_fetcher_rule", refuse)
    settled = [settle(world, page(f"p{number}"), TITLE_ONLY) for number in range(6)]
    assert settled == [Done(succeeded=True, kind="forwarded")] * 6
    assert world.records(Topic.DLQ) == []


def test_only_the_parser_upgrades_hosts() -> None:
    world = World()
    for number in range(6):
        sent = page(f"p{number}")
        world.settler(Stage.VALIDATE).settle(sent, decode_payload(RawContentRef, sent.value), NOTHING)
    assert crawled(world) == []


def _first_publish(job: CrawlJob) -> Request:
    return Request(job=job, parent="a page")
