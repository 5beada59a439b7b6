"""Due seeds: who is published, how urgently, and when they are looked at again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from issuetracker_dagster.errors import PublishFailed, Unavailable
from issuetracker_dagster.flow.freshness import freshness
from issuetracker_dagster.flow.publish import Publisher, Report
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.flow.resolve import priority_table
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.flow.schedule import JITTER, ScheduleReport, publish_due_seeds
from issuetracker_dagster.model.headers import TargetType, headers_from_raw
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.rules import BlacklistMode, PriorityRule
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Topic
from issuetracker_dagster.model.urls import parameter_rule
from tests.flow.world import World

M = 60_000
H = 60 * M


def everybody_goes(priority: Priority) -> str | None:
    return None


def low_waits(priority: Priority) -> str | None:
    return "too much waits" if priority is Priority.LOW else None


class Seeding(World):
    """A world with seeds; its clock begins at a time that looks like today."""

    def __init__(self) -> None:
        super().__init__()
        self.fake_clock.advance(10**12)

    def add(self, name: str = "a", **fields: Any) -> Seed:
        url = f"https://{name}.example.com/feed"
        self.stores.seeds.add([Seed(**{"url": url, "source": name, "since_ms": self.clock.now_ms(), **fields})])
        return self.seed(name)

    def seed(self, name: str = "a") -> Seed:
        found = self.stores.seeds.by_url(f"https://{name}.example.com/feed")
        assert found is not None
        return found

    def tick(self, hold_back: Callable[[Priority], str | None] = everybody_goes, **options: Any) -> ScheduleReport:
        return publish_due_seeds(
            self.stores.seeds,
            self.stores.raw_contents,
            options.pop("publisher", None) or self.publisher(),
            self.clock,
            hold_back=hold_back,
            **options,
        )

    def fetched(self, name: str = "a", body: str = "same") -> None:
        url = self.seed(name).url
        page = RawContent(url=url, requested_url=url, status=200, body_sha256=body, fetched_ms=self.clock.now_ms())
        self.stores.raw_contents.save(page)

    def crawled(self) -> list[tuple[str, Priority]]:
        """(host, priority) of every crawl job so far, in the order of its topic."""
        records = [record for topic in CRAWL_TOPICS.values() for record in self.records(topic)]
        return [((record.key or b"").decode(), headers_from_raw(record.headers).priority) for record in records]

    def root_ids(self) -> list[str]:
        records = [record for topic in CRAWL_TOPICS.values() for record in self.records(topic)]
        return [headers_from_raw(record.headers).root_id for record in records]


def test_a_due_seed_is_published_once_and_due_again_about_an_interval_later() -> None:
    world = Seeding()
    world.add(interval_ms=10 * M)
    assert world.tick() == ScheduleReport(due=1, published=1)
    assert world.tick() == ScheduleReport()
    after = world.seed()
    assert abs(after.next_due_ms - world.clock.now_ms() - 10 * M) <= JITTER * 10 * M
    assert after.published_ms == world.clock.now_ms()


def test_seeds_of_one_interval_spread_out() -> None:
    world = Seeding()
    for number in range(20):
        world.add(f"s{number}")
    world.tick()
    assert len({seed.next_due_ms for seed in world.stores.seeds.all()}) > 10


def test_a_seed_without_a_priority_resolves_through_the_chain_and_one_with_keeps_it() -> None:
    world = Seeding()
    world.rules = priority_table([PriorityRule(host="ruled.example.com", priority=Priority.LOW)])
    world.add("ruled")
    world.add("other")
    world.add("own", priority=1)
    world.stores.seeds.add([Seed(url="https://feed.example.org/", source="wire")])
    world.tick()
    assert dict(world.crawled()) == {
        "ruled.example.com": Priority.LOW,
        "other.example.com": Priority.NORMAL,
        "own.example.com": Priority.HIGH,
        "feed.example.org": Priority.HIGH,
    }


class Counting(Publisher):
    """Counts its calls; fails like a bug for requests of one source."""

    calls = 0
    poison = ""

    def publish(self, requests: Iterable[Request]) -> Report:
        asked = list(requests)
        self.calls += 1
        if self.poison in {request.job.source for request in asked}:
            raise RuntimeError("a bug")
        return super().publish(asked)


def counting(world: World, poison: str = "") -> Counting:
    made = world.publisher()
    made.__class__ = Counting
    assert isinstance(made, Counting)
    made.poison = poison or "nobody"
    return made


def test_many_seeds_are_published_in_a_batch_a_priority() -> None:
    world = Seeding()
    for number in range(60):
        world.add(f"s{number}", priority=1 + number % 2)
    publisher = counting(world)
    assert world.tick(publisher=publisher).published == 60
    assert publisher.calls == 2


def test_a_seed_that_fails_does_not_stop_the_others_and_is_not_tried_again_at_once() -> None:
    world = Seeding()
    for name in "abc":
        world.add(name)
    publisher = counting(world, poison="b")
    report = world.tick(publisher=publisher)
    assert (report.due, report.published, report.failed) == (3, 2, 1)
    assert sorted(host for host, _ in world.crawled()) == ["a.example.com", "c.example.com"]
    assert world.tick(publisher=publisher) == ScheduleReport()


class NoLow:
    """A producer whose broker has lost the topic of low jobs."""

    def __init__(self, world: World) -> None:
        self._world = world

    def publish(self, records: Sequence[Outgoing]) -> None:
        if any(record.topic is Topic.CRAWL_LOW for record in records):
            raise PublishFailed("crawl.low has no leader")
        self._world.producer.publish(records)

    def close(self) -> None:
        """Nothing to close."""


def test_a_topic_that_takes_nothing_keeps_its_seeds_due_and_the_others_go_on() -> None:
    world = Seeding()
    world.add("a", priority=3)
    world.add("b", priority=1)
    publisher = world.publisher()
    publisher._producer = NoLow(world)
    report = world.tick(publisher=publisher)
    assert (report.published, report.failed) == (1, 1)
    assert world.crawled() == [("b.example.com", Priority.HIGH)]
    assert [seed.source for seed in world.stores.seeds.due(world.clock.now_ms(), 9)] == ["a"]
    assert world.tick() == ScheduleReport(due=1, published=1)


def test_with_the_broker_out_every_seed_stays_due() -> None:
    world = Seeding()
    before = [world.add("a"), world.add("b", priority=1)]
    world.broker.stop()
    with pytest.raises(PublishFailed):
        world.tick()
    assert world.stores.seeds.all() == before
    world.broker.start()
    assert world.tick().published == 2


def test_killed_between_publish_and_schedule_the_same_root_id_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Seeding()
    world.add(freshness_ms=H)
    world.fake_clock.advance(2 * H)  # stale, so that no dedupe marker hides the second publish
    with monkeypatch.context() as killed:
        killed.setattr(world.stores.seeds, "scheduled", died)
        with pytest.raises(Unavailable):
            world.tick()
    world.fake_clock.advance(5_000)
    world.tick()
    first, second = world.root_ids()
    assert first == second


def test_killed_before_the_next_due_time_a_seed_is_known_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Seeding()
    world.add()
    with monkeypatch.context() as killed:
        killed.setattr(world.stores.seeds, "scheduled", died)
        with pytest.raises(Unavailable):
            world.tick()
    assert world.tick() == ScheduleReport(due=1, known=1)
    assert len(world.crawled()) == 1
    assert world.tick() == ScheduleReport()


def died(*_: object) -> None:
    raise Unavailable("killed")


def test_a_held_back_seed_stays_due_and_nothing_is_dropped_for_lag() -> None:
    """Finding 8: the throttle drops seeds before the buffer can take them."""
    world = Seeding()
    before = world.add("a", priority=3)
    world.add("b")
    report = world.tick(low_waits)
    assert report == ScheduleReport(due=2, published=1, held={"too much waits": 1})
    assert world.seed("a") == before
    # With buffering on nothing holds back, and what waited goes out.
    assert world.tick() == ScheduleReport(due=1, published=1)
    assert len(world.crawled()) == 2


def test_held_back_seeds_do_not_hide_those_behind_them() -> None:
    world = Seeding()
    for number in range(7):
        world.add(f"s{number}", priority=3)
    world.add("late", priority=1, next_due_ms=world.clock.now_ms())
    report = world.tick(low_waits, limit=2)
    assert (report.published, report.held) == (1, {"too much waits": 7})


def test_who_holds_back_is_asked_once_a_priority_and_round() -> None:
    world = Seeding()
    asked: list[Priority] = []
    for number in range(9):
        world.add(f"s{number}", priority=2 + number % 2)

    def wait(priority: Priority) -> str:
        asked.append(priority)
        return "wait"

    world.tick(wait, limit=2)
    assert sorted(asked) == [Priority.NORMAL, Priority.LOW]


def test_held_back_seeds_are_told_with_their_number(caplog: pytest.LogCaptureFixture) -> None:
    world = Seeding()
    for number in range(3):
        world.add(f"s{number}", priority=3)
    world.tick(low_waits)
    (told,) = [record for record in caplog.records if getattr(record, "action", "") == "throttle.held"]
    assert (told.levelname, told.getMessage()) == ("WARNING", "3 due seeds held back: too much waits")


def test_a_round_is_bounded() -> None:
    world = Seeding()
    for number in range(9):
        world.add(f"s{number}")
    assert [world.tick(limit=4).published for _ in range(4)] == [4, 4, 1, 0]


def test_a_blacklisted_seed_is_counted_and_looked_at_again_later() -> None:
    world = Seeding()
    world.blacklist = HostTable([("a.example.com", "", BlacklistMode.DROP)])
    world.add()
    assert world.tick() == ScheduleReport(due=1, refused=1)
    assert world.tick() == ScheduleReport()


def test_a_page_that_changes_is_looked_at_sooner_and_one_that_rests_later() -> None:
    world = Seeding()
    for name in ("busy", "quiet", "fixed"):
        bounds = {} if name == "fixed" else {"min_interval_ms": 10 * M, "max_interval_ms": 4 * H}
        world.add(name, interval_ms=H, **bounds)
    for look in range(12):
        world.tick()
        world.fake_clock.advance(30_000)
        world.fetched("busy", f"body {look}")
        world.fetched("quiet")
        world.fetched("fixed", f"body {look}")
        world.fake_clock.advance(5 * H)
    assert world.seed("busy").interval_ms == 10 * M
    assert world.seed("quiet").interval_ms == 4 * H
    assert world.seed("fixed").interval_ms == H


def test_a_halved_interval_is_not_swallowed_by_the_dedupe_of_the_look_before() -> None:
    world = Seeding()
    world.add(interval_ms=40 * M, min_interval_ms=10 * M, max_interval_ms=H)
    published = 0
    for look in range(6):
        report = world.tick(jitter=lambda: 0.0)
        assert report.known == 0
        published += report.published
        world.fetched(body=f"body {look}")
        world.fake_clock.advance(world.seed().next_due_ms - world.clock.now_ms())
    assert published == 6


FEED = "https://a.example.com/feed"


@pytest.mark.parametrize(
    ("query", "options", "known_as"),
    [
        ("?rss=1", {"keep_params": "rss"}, f"{FEED}?rss=1"),
        ("?rss=1", {}, FEED),
        ("?sid=7&id=1", {"drop_params": "sid"}, f"{FEED}?id=1"),
        ("?b=2&a=1", {"any_param_order": "true"}, f"{FEED}?a=1&b=2"),
    ],
)
def test_a_seed_finds_its_page_whatever_its_host_does_with_parameters(
    query: str, options: Mapping[str, str], known_as: str
) -> None:
    world = Seeding()
    rule = parameter_rule(options)
    world.parameters = HostTable([("a.example.com", "", rule)] if rule else [])
    url = FEED + query
    seed = Seed(url=url, source="a", interval_ms=H, min_interval_ms=10 * M, max_interval_ms=2 * H, freshness_ms=2 * H)
    world.stores.seeds.add([msgspec.structs.replace(seed, since_ms=now(world))])
    for look in range(6):
        report = world.tick()
        assert (report.published, report.stale) == (1, 0)
        (*_, record) = world.records(Topic.CRAWL_NORMAL)
        assert decode_payload(CrawlJob, record.value).url == known_as
        page = RawContent(
            url=known_as, requested_url=known_as, status=200, body_sha256=f"{look}", fetched_ms=now(world)
        )
        world.stores.raw_contents.save(page)
        (after,) = world.stores.seeds.all()
        world.fake_clock.advance(after.next_due_ms - now(world))
    assert after.interval_ms == 10 * M
    assert freshness(world.stores.seeds, world.stores.raw_contents, world.publisher().name_of, now(world)).stale == 0


def now(world: World) -> int:
    return world.clock.now_ms()


def test_a_seed_whose_page_became_stale_is_asked_for_at_once_at_high_priority_past_dedupe() -> None:
    world = Seeding()
    world.add(interval_ms=6 * H, freshness_ms=12 * H, priority=3)
    world.tick()
    world.fetched()
    # A look that comes to nothing: published, never fetched.
    world.fake_clock.advance(7 * H)
    assert world.tick(jitter=lambda: 1.0) == ScheduleReport(due=1, published=1)
    world.fake_clock.advance(12 * H - 7 * H - 1)
    assert world.tick() == ScheduleReport()
    world.fake_clock.advance(1 + H)  # stale for an hour; half the target has passed since the last look
    assert world.seed().next_due_ms > world.clock.now_ms()
    report = world.tick()
    assert (report.published, report.stale) == (1, 1)
    assert world.crawled()[0] == ("a.example.com", Priority.HIGH)
    assert [priority for _, priority in world.crawled()[1:]] == [Priority.LOW, Priority.LOW]


def test_a_stale_page_is_asked_for_although_its_url_counts_as_known() -> None:
    world = Seeding()
    world.add(target_type=TargetType.ARTICLE, interval_ms=H, freshness_ms=6 * H)
    world.tick()
    world.fake_clock.advance(2 * H)
    assert world.tick() == ScheduleReport(due=1, known=1)
    world.fake_clock.advance(5 * H)
    assert world.tick() == ScheduleReport(due=1, published=1, stale=1)


def test_a_fresh_page_is_left_to_its_interval() -> None:
    world = Seeding()
    world.add(interval_ms=H, freshness_ms=2 * H)
    for _ in range(24):
        report = world.tick()
        assert report.stale == 0
        if report.published:
            world.fetched()
        world.fake_clock.advance(H // 4)
    assert 4 <= len(world.crawled()) <= 7


def test_a_page_never_fetched_is_stale_a_target_after_its_seed_was_switched_on() -> None:
    world = Seeding()
    world.add(interval_ms=H, freshness_ms=H, enabled=False)
    world.fake_clock.advance(30 * H)
    url = world.seed().url
    world.stores.seeds.set_enabled([url], enabled=True, now_ms=world.clock.now_ms())
    assert world.tick() == ScheduleReport(due=1, published=1)
    world.fake_clock.advance(2 * H)
    assert world.tick().stale == 1


def test_a_dead_site_is_asked_at_most_twice_a_target() -> None:
    world = Seeding()
    world.add(interval_ms=12 * H, freshness_ms=12 * H)
    days = 10
    for _ in range(days * 24 * 4):
        world.tick()
        world.fake_clock.advance(H // 4)
    assert days * 2 - 2 <= len(world.crawled()) <= days * 4 + 1


def test_a_stale_seed_goes_out_though_its_own_priority_is_held_back() -> None:
    world = Seeding()
    world.add("old", priority=3, freshness_ms=H)
    world.add("new", priority=3)
    world.fake_clock.advance(2 * H)
    report = world.tick(low_waits)
    assert (report.published, report.stale, report.held) == (1, 1, {"too much waits": 1})
    assert world.crawled() == [("old.example.com", Priority.HIGH)]


def test_after_a_long_outage_the_stale_go_out_in_bounded_rounds_stalest_first() -> None:
    world = Seeding()
    now_ms = world.clock.now_ms()
    for number in range(9):
        world.add(f"s{number}", freshness_ms=H, since_ms=now_ms - number * M, next_due_ms=now_ms + 50 * H)
    world.fake_clock.advance(2 * H)
    assert world.tick(limit=4).stale == 4
    assert sorted(host.partition(".")[0] for host, _ in world.crawled()) == ["s5", "s6", "s7", "s8"]
    assert [world.tick(limit=4).stale for _ in range(3)] == [4, 1, 0]


def test_a_report_says_what_happened_in_words() -> None:
    assert str(ScheduleReport(due=3, published=3)) == "3 of 3 due seeds published"
    report = ScheduleReport(due=9, published=2, known=1, stale=1, failed=2, refused=1, held={"5100 wait in Kafka": 3})
    assert str(report) == (
        "2 of 9 due seeds published; 1 stale, so at high priority; 1 known already; 1 refused; "
        "2 failed, see the log of the code server; 3 held back: 5100 wait in Kafka"
    )
    out = ScheduleReport(due=8, published=1, failed=7, outage="Kafka is expected at host:9092")
    assert str(out) == "1 of 8 due seeds published; 7 failed: Kafka is expected at host:9092; they stay due"
