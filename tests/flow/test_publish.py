"""Publishing: what is new and allowed gets its priority and its topic."""

from collections.abc import Sequence
from typing import Any

import pytest

from issuetracker_dagster.adapters.memory.readers import MemoryProducer
from issuetracker_dagster.adapters.memory.topics import MemoryBroker
from issuetracker_dagster.adapters.memory.urls import MemoryIngestionLock
from issuetracker_dagster.errors import PublishFailed, RecordsRefused, Unavailable
from issuetracker_dagster.flow.buffer import release_marks
from issuetracker_dagster.flow.requests import Request, root_id_of
from issuetracker_dagster.flow.resolve import priority_table
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.headers import TargetType, headers_from_raw
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode, PriorityRule
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.model.urls import BadUrl, parameter_rule
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import Mark
from tests.flow.world import World

URL = "https://news.example.com/a"


def request(url: str = URL, parent: str = "page", **job: object) -> Request:
    return Request(job=CrawlJob(url=url, **job), parent=parent)  # type: ignore[arg-type]


def test_the_explicit_priority_wins_over_source_and_rule() -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host="news.example.com", priority=Priority.HIGH)])
    job = CrawlJob(url=URL, source="wire")
    report = world.publisher().publish([Request(job=job, parent="p", priority=Priority.LOW)])
    assert report.published[0].headers.priority is Priority.LOW
    assert len(world.records(Topic.CRAWL_LOW)) == 1


def test_the_source_wins_over_the_rule_and_the_rule_over_the_default() -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host="news.example.com", path="^/a", priority=Priority.LOW)])
    report = world.publisher().publish(
        [
            request("https://news.example.com/a1", source="wire"),
            request("https://news.example.com/a2"),
            request("https://news.example.com/b"),
        ]
    )
    assert [m.headers.priority for m in report.published] == [Priority.HIGH, Priority.LOW, Priority.NORMAL]


def test_a_link_is_a_new_root_with_its_pages_trace() -> None:
    world = World()
    job = CrawlJob(url=URL, target_type=TargetType.CATEGORY, crawler="news", timeout_ms=9_000)
    world.publisher().publish([Request(job=job, parent="page-root", trace_id="t1")])
    (record,) = world.records(Topic.CRAWL_NORMAL)
    headers = headers_from_raw(record.headers)
    assert headers.root_id != "page-root"
    assert (headers.trace_id, headers.crawler, headers.timeout_ms) == ("t1", "news", 9_000)
    assert headers.target_type is TargetType.CATEGORY
    assert record.key == b"news.example.com"


def test_a_known_url_is_not_published_again() -> None:
    world = World()
    publisher = world.publisher()
    assert len(publisher.publish([request()]).published) == 1
    again = publisher.publish([request(parent="other page")])
    assert (len(again.published), again.known) == (0, 1)


def test_the_marker_of_an_article_ends_after_its_time() -> None:
    world = World()
    publisher = world.publisher()
    publisher.publish([request()])
    world.fake_clock.advance(86_400_001)
    assert len(publisher.publish([request(parent="other page")]).published) == 1


def test_6_a_failed_publish_leaves_no_marker_behind() -> None:
    world = World()
    publisher = world.publisher()
    world.broker.stop()
    with pytest.raises(PublishFailed):
        publisher.publish([request()])
    world.broker.start()
    assert len(publisher.publish([request(parent="other page")]).published) == 1


def test_the_same_parent_asking_again_after_a_crash_gets_the_same_root_id() -> None:
    world = World()
    world.ingestion.begin([Mark(URL, root_id_of("page", URL))])  # the process died before the full marker
    first = world.publisher().publish([request()]).published[0]
    other_world = World()
    second = other_world.publisher().publish([request()]).published[0]
    assert first.headers.root_id == second.headers.root_id


def test_6_a_crash_before_or_after_the_publish_locks_nobody_out() -> None:
    world = World()
    world.ingestion.begin([Mark(URL, root_id_of("crashed", URL))])
    publisher = world.publisher()
    assert len(publisher.publish([request(parent="another page")]).published) == 0
    world.fake_clock.advance(60_001)
    assert len(publisher.publish([request(parent="another page")]).published) == 1


def test_a_blacklisted_url_is_dropped_and_not_locked_out() -> None:
    world = World()
    world.blacklist = HostTable([("news.example.com", "^/ads/", BlacklistMode.DROP)])
    report = world.publisher().publish([request("https://news.example.com/ads/1")])
    assert (len(report.published), report.blacklisted) == (0, 1)
    world.blacklist = HostTable(())
    assert len(world.publisher().publish([request("https://news.example.com/ads/1")]).published) == 1


def test_an_index_page_on_the_blacklist_is_crawled_for_its_links() -> None:
    world = World()
    world.blacklist = HostTable([("news.example.com", "^/topic/", BlacklistMode.EXTRACT_LINKS_ONLY)])
    (message,) = world.publisher().publish([request("https://news.example.com/topic/1")]).published
    assert message.headers.target_type is TargetType.CATEGORY
    assert decode_payload(CrawlJob, message.value).target_type is TargetType.CATEGORY


def test_a_bad_url_is_counted_and_the_others_go_on() -> None:
    report = World().publisher().publish([request("mailto:x@example.com"), request()])
    assert (report.malformed, len(report.published)) == (1, 1)


def test_7_tracking_parameters_do_not_make_a_new_page_but_other_parameters_do() -> None:
    publisher = World().publisher()
    urls = [f"{URL}?id=1&utm_source=x", f"{URL}?id=1", f"{URL}?id=2"]
    reports = [publisher.publish([request(url, parent=f"p{n}")]) for n, url in enumerate(urls)]
    assert [len(report.published) for report in reports] == [1, 0, 1]


def test_a_link_that_a_page_has_twice_is_published_once() -> None:
    world = World()
    report = world.publisher().publish([request(URL), request(f"{URL}?utm_source=x")])
    assert (len(report.published), report.known) == (1, 1)
    assert len(world.records(Topic.CRAWL_NORMAL)) == 1


def test_rules_that_cannot_be_read_leave_no_marker_behind() -> None:
    world = World()
    publisher = world.publisher()
    allowed = world.blacklist
    world.blacklist = Unreadable(())
    with pytest.raises(Unavailable):
        publisher.publish([request(parent="page")])
    world.blacklist = allowed
    assert len(publisher.publish([request(parent="another page")]).published) == 1


def test_a_batch_is_one_round_trip_each_way() -> None:
    world = World()
    world.blacklist = HostTable([("news.example.com", "^/ads/", BlacklistMode.DROP)])
    calls = Calls()
    world.ingestion = calls.of(world.ingestion)
    world.producer = calls.of(world.producer)
    links = [f"https://news.example.com/{'ads/' if n % 10 == 0 else ''}{n}" for n in range(200)]
    report = world.publisher().publish([request(url) for url in [*links, links[1], "mailto:x@example.com"]])
    assert (len(report.published), report.blacklisted, report.known, report.malformed) == (180, 20, 1, 1)
    assert calls == [("begin", 201), ("publish", 180), ("abandon", 20), ("confirm", 180)]


def test_nothing_new_asks_kafka_nothing() -> None:
    world = World()
    world.publisher().publish([request()])
    calls = Calls()
    world.ingestion = calls.of(world.ingestion)
    world.producer = calls.of(world.producer)
    world.publisher().publish([request(parent="other page")])
    world.publisher().publish([])
    assert calls == [("begin", 1)]


def test_a_batch_that_failed_halfway_is_published_again_whole_by_anybody() -> None:
    world = World()
    links = [f"https://news.example.com/{n}" for n in range(20)]
    world.producer = Halfway(world.broker)
    with pytest.raises(PublishFailed):
        world.publisher().publish([request(url) for url in links])
    world.producer = MemoryProducer(world.broker)
    assert len(world.publisher().publish([request(url, parent="other page") for url in links[:5]]).published) == 5
    again = world.publisher().publish([request(url) for url in links])
    assert (len(again.published), again.known) == (15, 5)
    assert len(world.records(Topic.CRAWL_NORMAL)) == 10 + 5 + 15
    # What was in Kafka before the failure is there twice under one identity, by which it is recognised.
    ids = [headers_from_raw(record.headers).root_id for record in world.records(Topic.CRAWL_NORMAL)]
    assert len(set(ids)) == 5 + 20


def test_many_are_published_in_batches_and_after_a_failure_only_the_rest_is_left() -> None:
    world = World()
    links = [f"https://news.example.com/{n}" for n in range(1_200)]
    world.producer = Failing(world.broker, calls_before=2)
    with pytest.raises(PublishFailed):
        world.publisher().publish(request(url) for url in links)
    world.producer = MemoryProducer(world.broker)
    report = world.publisher().publish(request(url) for url in links)
    assert (len(report.published), report.known) == (200, 1_000)


def test_first_publishes_of_a_host_keep_their_order() -> None:
    world = World()
    links = [f"https://h{n % 7}.example.com/{n}" for n in range(1_200)]
    report = world.publisher().publish(request(url) for url in links)
    assert [decode_payload(CrawlJob, message.value).url for message in report.published] == links
    for host in range(7):
        numbers = [
            int(decode_payload(CrawlJob, record.value).url.rpartition("/")[2])
            for record in world.records(Topic.CRAWL_NORMAL)
            if record.key == f"h{host}.example.com".encode()
        ]
        assert numbers == list(range(host, 1_200, 7))


def test_without_redis_publishing_goes_on_and_a_url_asked_for_twice_is_published_once() -> None:
    world = World()
    world.ingestion = NoRedis(world.clock)
    links = [request(), request("https://news.example.com/b"), request(), request(parent="another page")]
    report = world.publisher().publish(links)
    assert (len(report.published), report.known) == (2, 2)


def test_6_a_link_behind_that_of_another_page_is_taken_up_by_the_page_that_began_with_it() -> None:
    world = World()
    world.ingestion.begin([Mark(URL, root_id_of("page", URL))])  # its publisher died
    report = world.publisher().publish([request(parent="another page"), request(), request(parent="another page")])
    assert [message.headers.root_id for message in report.published] == [root_id_of("page", URL)]
    assert report.known == 2


@pytest.mark.parametrize("failing", ["confirm", "abandon"])
def test_redis_lost_in_the_middle_of_a_batch_stops_nothing(failing: str) -> None:
    world = World()
    world.blacklist = HostTable([("news.example.com", "^/ads/", BlacklistMode.DROP)])
    world.ingestion = NoRedis(world.clock, failing)
    report = world.publisher().publish([request(), request("https://news.example.com/ads/1")])
    assert (len(report.published), report.blacklisted) == (1, 1)


def test_10_a_job_that_falls_out_of_the_buffer_at_once_locks_its_url_out_for_nobody() -> None:
    world = World()

    class Overflowing(MemoryProducer):
        def publish(self, records: Sequence[Outgoing]) -> None:
            super().publish(records)
            release_marks(world.ingestion, records[:1])

    world.producer = Overflowing(world.broker)
    links = [request(), request(f"{URL}2")]
    world.publisher().publish(links)
    world.producer = MemoryProducer(world.broker)
    report = world.publisher().publish(links)
    assert (len(report.published), report.known) == (1, 1)


def test_what_passes_dedupe_by_meets_no_marker_and_leaves_none() -> None:
    world = World()
    publisher = world.publisher()
    publisher.publish([request()])
    forced = Request(job=CrawlJob(url=URL), parent="freshness", dedupe=False)
    assert len(publisher.publish([forced]).published) == 1
    other = Request(job=CrawlJob(url=f"{URL}2"), parent="freshness", dedupe=False)
    assert len(publisher.publish([other]).published) == 1
    assert world.ingestion.view(f"{URL}2") is None


def test_a_message_alone_is_enough_to_release_its_marker() -> None:
    world = World()
    (message,) = world.publisher().publish([request(f"{URL}?utm_source=x#top")]).published
    url = decode_payload(CrawlJob, message.value).url
    view = world.ingestion.view(url)
    assert view is not None
    assert view.owner == message.headers.root_id
    world.ingestion.release([Mark(url, message.headers.root_id)])
    assert len(world.publisher().publish([request(parent="other page")]).published) == 1


def test_what_went_out_is_told_with_what_decided_its_priority() -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host="news.example.com", path="^/a", priority=Priority.LOW, rule_id=7)])
    world.publisher().publish(
        [
            request("https://news.example.com/a"),
            request("https://news.example.com/b", source="wire", target_type=TargetType.FEED),
            request("https://news.example.com/c"),
            request("https://news.example.com/a"),
        ]
    )
    told = [(job.url, job.host, job.source, job.target_type, job.priority, job.decided_by) for job in world.published]
    host = "news.example.com"
    assert told == [
        (f"https://{host}/a", host, "", TargetType.ARTICLE, 3, "rule 7"),
        (f"https://{host}/b", host, "wire", TargetType.FEED, 1, "source"),
        (f"https://{host}/c", host, "", TargetType.ARTICLE, 2, "default"),
    ]
    assert {job.at_ms for job in world.published} == {world.clock.now_ms()}


def test_what_failed_is_not_told_as_published() -> None:
    world = World()
    world.broker.stop()
    with pytest.raises(PublishFailed):
        world.publisher().publish([request()])
    assert world.published == []


def test_a_link_too_long_for_a_message_costs_its_neighbours_nothing() -> None:
    report = World().publisher().publish([request(f"{URL}?q={'x' * 1_100_000}"), request()])
    assert (report.malformed, len(report.published)) == (1, 1)


def test_beside_a_job_that_kafka_never_takes_the_others_are_out_known_and_told() -> None:
    world = World()
    huge = request("https://news.example.com/huge", source="x" * 1_200_000)
    requests = [request(), huge, request("https://news.example.com/b")]
    publisher = world.publisher()
    for _ in range(2):
        with pytest.raises(RecordsRefused):
            publisher.publish(requests)
    assert len(world.records(Topic.CRAWL_NORMAL)) == 2
    assert [row.url for row in world.published] == [URL, "https://news.example.com/b"]
    assert len(publisher.publish([request("https://news.example.com/huge")]).published) == 1


def test_the_priority_of_a_request_can_be_asked_before_it_is_published() -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host="news.example.com", path="^/a", priority=Priority.LOW)])
    publisher = world.publisher()
    assert publisher.priority_of(request("HTTPS://News.Example.com:443/%61")) is Priority.LOW
    assert publisher.priority_of(request(source="wire")) is Priority.HIGH
    assert (
        publisher.priority_of(Request(job=CrawlJob(url=URL), parent="p", priority=Priority.NORMAL)) is Priority.NORMAL
    )
    with pytest.raises(BadUrl):
        publisher.priority_of(request("mailto:x@example.com"))
    assert world.records(Topic.CRAWL_LOW) == []


def test_parameters_of_a_host_stay_and_go_as_its_rule_says() -> None:
    world = World()
    said = {"keep_params": "rss", "drop_params": "PHPSESSID\nsid", "any_param_order": "true"}
    rule = parameter_rule(said)
    assert rule is not None
    world.parameters = HostTable([("forum.example.com", "", rule)])
    publisher = world.publisher()
    links = [
        "https://Forum.example.com./view?sid=1&no=7&rss=2&utm_source=x",
        "https://forum.example.com/view?rss=2&no=7&phpsessid=9",
        "https://forum.example.com/view?rss=3&no=7",
        "https://news.example.com/view?sid=1&no=7&rss=2",
    ]
    report = publisher.publish([request(link, parent=link) for link in links])
    assert [decode_payload(CrawlJob, message.value).url for message in report.published] == [
        "https://forum.example.com/view?no=7&rss=2",
        "https://forum.example.com/view?no=7&rss=3",
        "https://news.example.com/view?sid=1&no=7",
    ]


MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("kind", "interval_ms", "known_ms"),
    [
        (TargetType.ARTICLE, 0, DAY),
        (TargetType.ARTICLE, HOUR, DAY),
        (TargetType.CATEGORY, 0, MINUTE),
        (TargetType.CATEGORY, HOUR, MINUTE),
        (TargetType.CATEGORY, MINUTE, MINUTE // 2),
        (TargetType.CATEGORY, 1, 1),
        (TargetType.FEED, 0, MINUTE),
        (TargetType.FEED, HOUR, HOUR // 2),
        (TargetType.SITEMAP, DAY, DAY // 2),
    ],
)
def test_how_long_a_published_url_is_known(kind: TargetType, interval_ms: int, known_ms: int) -> None:
    world = World()
    job = CrawlJob(url=URL, target_type=kind, interval_ms=interval_ms)
    world.publisher().publish([Request(job=job, parent="seed:1:0")])
    view = world.ingestion.view(URL)
    assert view is not None
    assert (view.pending, view.expires_in_ms) == (False, known_ms)


@pytest.mark.parametrize("kind", [TargetType.CATEGORY, TargetType.FEED, TargetType.SITEMAP])
@pytest.mark.parametrize("interval_ms", [10_000, 60_000, HOUR])
def test_a_seed_never_meets_its_own_marker(kind: TargetType, interval_ms: int) -> None:
    world = World()
    publisher = world.publisher()
    for look in range(3):
        job = CrawlJob(url=URL, target_type=kind, interval_ms=interval_ms)
        assert len(publisher.publish([Request(job=job, parent=f"seed:1:{look}")]).published) == 1
        world.fake_clock.advance(int(interval_ms * 0.9))


class Calls(list[tuple[str, int]]):
    """What was asked of ports that are reached over the network, and for how many things at once."""

    def of(self, port: Any) -> Any:
        """The port, with its calls noted here."""
        calls = self

        class Noted:
            def __getattr__(self, name: str) -> Any:
                def noted(things: Sequence[object]) -> object:
                    calls.append((name, len(things)))
                    return getattr(port, name)(things)

                return noted

        return Noted()


class Halfway(MemoryProducer):
    """Fails after half of each batch."""

    def publish(self, records: Sequence[Outgoing]) -> None:
        super().publish(records[: len(records) // 2])
        raise PublishFailed("the broker is out")


class Failing(MemoryProducer):
    """Fails after some calls."""

    def __init__(self, broker: MemoryBroker, calls_before: int) -> None:
        super().__init__(broker)
        self._left = calls_before

    def publish(self, records: Sequence[Outgoing]) -> None:
        if not self._left:
            raise PublishFailed("the broker is out")
        self._left -= 1
        super().publish(records)


class NoRedis(MemoryIngestionLock):
    """Out for some calls, or for all."""

    def __init__(self, clock: Clock, *out: str) -> None:
        super().__init__(clock)
        self._out = out

    def _ask(self, name: str) -> None:
        if not self._out or name in self._out:
            raise Unavailable(f"{name}: Redis is out")

    def begin(self, marks: Sequence[Mark]) -> Sequence[bool]:
        self._ask("begin")
        return super().begin(marks)

    def confirm(self, marks: Sequence[tuple[Mark, int]]) -> None:
        self._ask("confirm")
        super().confirm(marks)

    def abandon(self, marks: Sequence[Mark]) -> None:
        self._ask("abandon")
        super().abandon(marks)


class Unreadable(HostTable[BlacklistMode]):
    """A table behind a database that is out."""

    def find(self, url: str) -> BlacklistMode | None:
        raise Unavailable(f"the database is out, {url} can't be judged")
