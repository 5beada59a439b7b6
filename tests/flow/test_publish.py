"""Publishing: what is new and allowed gets its priority and its topic."""

import pytest

from issuetracker_dagster.errors import PublishFailed, Unavailable
from issuetracker_dagster.flow.publish import Request
from issuetracker_dagster.flow.resolve import priority_table
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.headers import TargetType, headers_from_raw
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistMode, PriorityRule
from issuetracker_dagster.model.stage import Topic
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


def test_a_failed_publish_leaves_no_marker_behind() -> None:
    world = World()
    publisher = world.publisher()
    world.broker.stop()
    with pytest.raises(PublishFailed):
        publisher.publish([request()])
    world.broker.start()
    assert len(publisher.publish([request(parent="other page")]).published) == 1


def test_the_same_parent_asking_again_after_a_crash_gets_the_same_root_id() -> None:
    world = World()
    assert world.ingestion.begin(URL, "page")  # the process died between the publish and the full marker
    first = world.publisher().publish([request()]).published[0]
    other_world = World()
    second = other_world.publisher().publish([request()]).published[0]
    assert first.headers.root_id == second.headers.root_id


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


def test_tracking_parameters_do_not_make_a_new_page_but_other_parameters_do() -> None:
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


class Unreadable(HostTable[BlacklistMode]):
    """A table behind a database that is out."""

    def find(self, url: str) -> BlacklistMode | None:
        raise Unavailable(f"the database is out, {url} can't be judged")
