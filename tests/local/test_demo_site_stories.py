"""The stories of the demo site, and what the stages make of them."""

from collections import Counter, defaultdict
from collections.abc import Iterator

import msgspec
import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.local.site.articles import article_page
from issuetracker_dagster.local.site.hosts import BUSAN, FORUM, HOSTS, NEWS, WORLD, Host
from issuetracker_dagster.local.site.names import Hangul
from issuetracker_dagster.local.site.newsroom import LISTED, Newsroom
from issuetracker_dagster.local.site.sources import parser_rules
from issuetracker_dagster.local.site.stories import Story
from issuetracker_dagster.local.site.timeline import ARCHIVED, EVERY_MS, RECENT, Timeline
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.records import Content, Enrichment, RawContent
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.parser.handler import ParserHandler
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import InProcessReader
from issuetracker_dagster.stages.validate.handler import ValidateHandler

EPOCH_MS = 1_796_000_000_000
DAY_MS = 86_400_000


def newsroom(seed: int = 7) -> Newsroom:
    return Newsroom(Timeline(seed, EPOCH_MS))


def stories(seed: int, last: int) -> list[Story]:
    """The latest story of every host after each of the first events."""
    room = newsroom(seed)
    moments = [room.timeline.at_ms(number) + 30_000 for number in range(last)]
    return [story for now_ms in moments for host in HOSTS for story in room.latest(host, now_ms, limit=1)]


def test_the_same_seed_tells_the_same_stories_and_another_seed_others() -> None:
    assert stories(7, 40) == stories(7, 40)
    assert not {story.title for story in stories(7, 40)} & {story.title for story in stories(8, 40)}


def test_a_day_of_events_is_there_at_the_start_and_a_new_one_comes_every_fifteen_seconds() -> None:
    timeline = Timeline(7, EPOCH_MS)
    assert timeline.newest(EPOCH_MS) == RECENT - 1
    assert EPOCH_MS - DAY_MS <= timeline.at_ms(0) < timeline.at_ms(RECENT - 1) < EPOCH_MS
    assert timeline.newest(EPOCH_MS + 10 * EVERY_MS) == RECENT + 9
    assert timeline.at_ms(RECENT + 9) == EPOCH_MS + 10 * EVERY_MS


def test_at_least_three_hosts_tell_each_event_within_half_a_minute_of_it() -> None:
    timeline = Timeline(7, EPOCH_MS)
    for number in range(-ARCHIVED, 200):
        event = timeline.event(number)
        assert len(event.hosts) >= 3
        for host in event.hosts:
            assert 5_000 <= timeline.told_ms(host, number) - event.at_ms < 30_000


def test_a_story_is_out_only_once_its_host_has_published_it() -> None:
    room = newsroom()
    number = RECENT + 3
    host = room.event(number).hosts[0]
    told_ms = room.timeline.told_ms(host, number)
    story = room.latest(host, told_ms, limit=1)[0]
    assert story.published_ms == told_ms
    assert room.at(host, story.path, told_ms) is story
    assert room.at(host, story.path, told_ms - 1) is None
    assert story not in room.latest(host, told_ms - 1)


def test_lists_stay_bounded_after_a_month_and_old_stories_keep_their_url() -> None:
    room = newsroom()
    first = room.latest(NEWS["en"][0], EPOCH_MS, limit=1)[0]
    later_ms = EPOCH_MS + 30 * DAY_MS
    for host in HOSTS:
        listed = room.latest(host, later_ms)
        assert len(listed) == LISTED
        assert all(later_ms - story.published_ms < DAY_MS for story in listed)
        assert [story.published_ms for story in listed] == sorted((s.published_ms for s in listed), reverse=True)
    assert room.at(NEWS["en"][0], first.path, later_ms) == first


def test_breaking_and_archived_stories_have_paths_of_their_own() -> None:
    room = newsroom()
    for host in HOSTS:
        breaking = room.latest(host, EPOCH_MS + 40 * EVERY_MS, "breaking")
        archived = room.latest(host, EPOCH_MS, "archive")
        assert breaking
        assert archived
        assert all(story.path.startswith("/breaking/") for story in breaking)
        assert all(story.path.startswith("/archive/") for story in archived)


def test_every_wording_can_be_told_and_no_blank_stays_open() -> None:
    room = newsroom()
    for number in range(-ARCHIVED, 400):
        event = room.event(number)
        for blocks in event.kind.blocks.values():
            for wordings in blocks:
                for wording in wordings:
                    assert "{" not in wording.format_map(event.fills)


def test_articles_have_the_length_of_news() -> None:
    for story in stories(3, 120):
        if story.host.community:
            continue
        body = "\n".join(story.paragraphs)
        if story.host.language == "en":
            assert 250 <= len(body.split()) <= 500, story
        else:
            assert len(body) >= 800, story


@pytest.mark.parametrize(
    ("word", "particle", "read"),
    [
        ("가람시", "은", "가람시는"),
        ("다솜군", "은", "다솜군은"),
        ("서울", "으로", "서울로"),
        ("광안", "으로", "광안으로"),
    ],
)
def test_particles_follow_the_last_sound(word: str, particle: str, read: str) -> None:
    assert format(Hangul(word), particle) == read


class Told(msgspec.Struct, frozen=True):
    """A story after the stages."""

    number: int
    story: Story
    content: Content
    accepted: bool
    enrichment: Enrichment


class Stages:
    """Parser, validate and enrich over memory stores, as the demo's rules have it."""

    def __init__(self, seed: int, now_ms: int) -> None:
        self.stores = MemoryStores()
        self._clock = FakeClock(now_ms)
        self._room = newsroom(seed)
        for rule in parser_rules():
            self.stores.parser_rules.save(rule)
        stores = self.stores
        self._parser = ParserHandler(
            stores.raw_contents, stores.contents, stores.parser_rules, InProcessReader(), self._clock, ParserOptions()
        )
        self._validate = ValidateHandler(stores.contents, self._clock)
        self._enrich = EnrichHandler(stores.contents, stores.issues, self._clock)

    def tell(self, numbers: range) -> list[Told]:
        refs = [told for number in numbers for told in self._told(number)]
        return [self._judged(number, story, ref) for number, story, ref in refs]

    def _told(self, number: int) -> Iterator[tuple[int, Story, ContentRef]]:
        for host in self._room.event(number).hosts:
            section = "archive" if number < 0 else ""
            at_ms = self._room.timeline.told_ms(host, number)
            told = self._room.latest(host, at_ms if number >= 0 else self._clock.now_ms(), section, LISTED * 2)
            story = next(story for story in told if story.published_ms == at_ms)
            yield number, story, self._journey(story, host)

    def _journey(self, story: Story, host: Host) -> ContentRef:
        base_url = f"http://{host.name}:8000"
        url = base_url + story.path
        page = RawContent(
            url=url,
            requested_url=url,
            status=200,
            content_type="text/html" if host.charset == "euc-kr" else "text/html; charset=utf-8",
            body=article_page(story, base_url, self._clock.now_ms()).encode(host.charset, "xmlcharrefreplace"),
            fetched_ms=self._clock.now_ms(),
        )
        raw = RawContentRef(
            raw_id=self.stores.raw_contents.save(page),
            url=url,
            requested_url=url,
            target_type=TargetType.ARTICLE,
            fetched_ms=page.fetched_ms,
            source=host.key,
        )
        context = HandlerContext(Headers(root_id=url))
        parsed = self._parser.handle(raw, context).forward
        assert isinstance(parsed, ContentRef), url
        if self._validate.handle(parsed, context).forward:
            self._enrich.handle(parsed, context)
        return parsed

    def _judged(self, number: int, story: Story, ref: ContentRef) -> Told:
        content = self.stores.contents.get(ref.content_id)
        verdict = self.stores.contents.verdict(ref.content_id)
        enrichment = self.stores.issues.enrichment(ref.content_id)
        assert content is not None
        assert verdict is not None
        assert enrichment is not None, verdict
        return Told(number, story, content, verdict.accepted, enrichment)


@pytest.fixture(scope="module")
def told() -> list[Told]:
    """What the stages make of the first events: those of the last day and five minutes of the run."""
    last = RECENT + 20
    return Stages(7, EPOCH_MS + 30 * EVERY_MS).tell(range(last))


def test_pages_are_read_as_they_were_written(told: list[Told]) -> None:
    for one in told:
        content, story = one.content, one.story
        assert content.title == story.title
        assert abs(content.published_ms - story.published_ms) < 60_000, story.host.key
        assert content.author == story.author
        assert all(text in content.body for text in story.paragraphs[1:]), story.host.key
        assert content.replacement_share == 0
        if not story.host.community:
            assert content.category == story.category
            assert set(story.tags) <= set(content.tags)
            assert content.summary == story.summary


def test_hosts_without_metadata_are_read_by_their_rule_and_the_others_without(told: list[Told]) -> None:
    sources: defaultdict[str, set[bool]] = defaultdict(set)
    for one in told:
        sources[one.story.host.metadata].add(one.content.field_sources.get("title") == "rule")
    assert sources == {"visible": {True}, "json_ld": {False}, "opengraph": {False}}


def test_every_story_is_accepted(told: list[Told]) -> None:
    assert [one.story.path for one in told if not one.accepted] == []
    assert {one.enrichment.failed_steps for one in told} == {()}
    assert {one.content.kind for one in told if one.story.host is FORUM} == {"community"}


def test_each_event_is_one_issue_of_at_least_three_sources_in_both_languages(told: list[Told]) -> None:
    issues: defaultdict[int, set[int]] = defaultdict(set)
    hosts: defaultdict[int, set[str]] = defaultdict(set)
    for one in told:
        issues[one.number].add(one.enrichment.issue_id)
        hosts[one.enrichment.issue_id].add(one.story.host.key)
    assert [number for number, found in issues.items() if len(found) > 1] == []
    merged = Counter(issue for found in issues.values() for issue in found)
    assert [issue for issue, count in merged.items() if count > 1] == []
    assert min(len(found) for found in hosts.values()) >= 3
    assert {one.enrichment.language for one in told} == {"en", "ko"}


def test_other_figures_of_one_host_show_as_contradictions(told: list[Told]) -> None:
    statuses: dict[str, Counter[str]] = {host.key: Counter() for host in HOSTS}
    for one in told:
        statuses[one.story.host.key].update(claim.status for claim in one.enrichment.claims)
    assert statuses[WORLD.key]["contradicted"] > 0
    assert statuses[BUSAN.key]["contradicted"] > 0
    assert all(counted["supported"] > counted["contradicted"] for counted in statuses.values())


@pytest.mark.slow
def test_events_of_an_hour_and_of_the_archive_stay_apart() -> None:
    numbers = range(-ARCHIVED, 60)
    found = Stages(11, EPOCH_MS + 40 * EVERY_MS).tell(numbers)
    issues = {(one.number, one.enrichment.issue_id) for one in found}
    assert len(issues) == len(numbers) == len({issue for _, issue in issues})
