"""Feeds that pages announce: which are found, and how they become seeds that are off."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

from benchmarks.quality.recorded import page
from issuetracker_dagster.adapters.memory.store_seeds import MemorySeeds
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.headers import REPARSE, Headers, TargetType
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.stages.parser.announced import announced_feeds
from issuetracker_dagster.stages.parser.charset import decode_page
from issuetracker_dagster.stages.parser.offers import FeedOffers
from tests.stages.parser_world import PAGE_URL, ParserWorld, article_html

HOST = "https://news.example.com"


def link(href: str, kind: str = "application/rss+xml", rel: str = "alternate") -> str:
    return f'<link rel="{rel}" type="{kind}" href="{href}">'


def found(*links: str, url: str = PAGE_URL, of_article: bool = True) -> list[str]:
    html = f"<html><head>{''.join(links)}</head><body></body></html>"
    return [feed.removeprefix(HOST) for feed in announced_feeds(LexborHTMLParser(html), url, of_article=of_article)]


def test_feeds_of_every_format_are_found_in_page_order_and_once() -> None:
    links = [
        link("/rss#top"), link("/atom", "application/atom+xml; charset=utf-8"), link("/json", "application/feed+json"),
        link("/rdf", "Application/RDF+xml"), link("/rss"), link("//feeds.example.org/x y", rel="Alternate feed"),
    ]  # fmt: skip
    assert found(*links) == ["/rss", "/atom", "/json", "/rdf", "https://feeds.example.org/x%20y"]


def test_what_is_no_feed_of_news_is_left_out() -> None:
    links = [
        link("/wp-json/posts/1", "application/json"), link("/oembed", "text/xml+oembed"), link("/de/", "text/html"),
        link("/style.css", rel="stylesheet"), link("/comments/feed/"), link("/feeds/7/comments/default"),
        link("javascript:x()"), link("http://["), link(""), link(PAGE_URL),
        '<link rel="alternate" type="application/rss+xml">',
    ]  # fmt: skip
    assert found(*links) == []


def test_a_feed_below_an_article_is_of_its_comments_and_one_below_a_section_is_the_sections() -> None:
    below = link(f"{PAGE_URL}/feed/")
    assert found(below, of_article=True) == []
    assert found(below, of_article=False) == ["/world/1/feed/"]
    assert found(link("/feed/"), url=f"{HOST}/") == ["/feed/"]


def test_a_page_announces_no_more_than_twenty() -> None:
    assert len(found(*(link(f"/rss/{number}") for number in range(5_000)))) == 20


def seeds_of(world: ParserWorld) -> list[tuple[str, str, bool, str]]:
    return [(seed.url, seed.source, seed.enabled, seed.target_type.value) for seed in world.stores.seeds.all()]


OFFERED = (f"{HOST}/rss", "page:news.example.com", False, "feed")


def test_feeds_of_articles_sections_and_index_pages_are_offered_as_seeds_that_are_off() -> None:
    index = "<html><head>{}</head><body>" + "<a href='/x'>a link</a> and more words than that around it " * 6
    for html, kind in (
        (article_html(head=link("/rss")), TargetType.ARTICLE),
        (index.format(link("/rss")), TargetType.ARTICLE),
        (index.format(link("/rss")), TargetType.CATEGORY),
    ):
        world = ParserWorld()
        world.handle(world.stored(html, target_type=kind))
        assert seeds_of(world) == [OFFERED]


def test_a_seed_that_people_know_stays_as_they_set_it() -> None:
    world = ParserWorld()
    known = Seed(url=f"{HOST}/rss", source="example-news", priority=1)
    world.stores.seeds.add([known])
    world.handle(world.stored(article_html(head=link("/rss"))))
    assert seeds_of(world) == [(f"{HOST}/rss", "example-news", True, "feed")]


def test_a_feed_that_can_be_no_seed_costs_no_article() -> None:
    world = ParserWorld()
    outcome = world.handle(world.stored(article_html(head=link("/" + "x" * 3_000) + link("/rss"))))
    assert world.content(outcome).title
    assert seeds_of(world) == [OFFERED]


def test_a_page_that_is_read_again_offers_nothing() -> None:
    world = ParserWorld()
    payload = world.stored(article_html(head=link("/rss")))
    world.handler.handle(payload, HandlerContext(Headers(root_id="r", other=((REPARSE, b"1"),))))
    assert seeds_of(world) == []


class CountedSeeds(MemorySeeds):
    """Seeds that count how often they are asked, and may be away."""

    def __init__(self, *, away: bool = False) -> None:
        super().__init__()
        self.calls = 0
        self.away = away

    def add(self, seeds: Sequence[Seed]) -> int:
        self._asked()
        return super().add(seeds)

    def count_of(self, source: str) -> int:
        self._asked()
        return super().count_of(source)

    def _asked(self) -> None:
        self.calls += 1
        if self.away:
            raise Unavailable("the database is away")

    @property
    def urls(self) -> list[str]:
        return [seed.url for seed in self.all()]


def test_a_known_feed_asks_no_database_and_a_host_gets_fifty_in() -> None:
    seeds = CountedSeeds()
    offers = FeedOffers(seeds)
    for number in range(1_000):
        offers.offer([f"{HOST}/rss", f"{HOST}/rss/{number}"], PAGE_URL)
    assert len(seeds.urls) == 50
    assert seeds.calls <= 2 * 50
    offers.offer(["https://other.example/rss"], "https://other.example/1")
    assert seeds.urls[-1] == "https://other.example/rss"


def test_a_host_gets_fifty_in_from_all_processes_together_and_those_before_them() -> None:
    seeds = MemorySeeds()
    processes = [FeedOffers(seeds) for _ in range(3)]
    for number in range(300):
        processes[number % 3].offer([f"{HOST}/rss/{number}/{part}" for part in range(7)], PAGE_URL)
    assert len(seeds.all()) == 50
    FeedOffers(seeds).offer([f"{HOST}/rss/after"], PAGE_URL)
    assert len(seeds.all()) == 50


def test_feeds_that_people_know_crowd_out_no_new_one() -> None:
    seeds = MemorySeeds()
    known = [f"{HOST}/rss/{number}" for number in range(100)]
    seeds.add([Seed(url=url, source="example-news") for url in known])
    offers = FeedOffers(seeds)
    for number in range(100):
        offers.offer([*known[number:][:18], f"{HOST}/new/{number}"], PAGE_URL)
    assert seeds.count_of("page:news.example.com") == 50
    assert seeds.by_url(f"{HOST}/new/49") is not None


def test_what_could_not_be_offered_is_offered_again() -> None:
    seeds = CountedSeeds(away=True)
    offers = FeedOffers(seeds)
    with pytest.raises(Unavailable):
        offers.offer([f"{HOST}/rss"], PAGE_URL)
    seeds.away = False
    offers.offer([f"{HOST}/rss"], PAGE_URL)
    assert seeds.urls == [f"{HOST}/rss"]


@pytest.mark.parametrize(
    ("page_id", "feeds"),
    [
        ("LesothoTimes_2025_05_23", ["https://lestimes.com/feed/"]),
        ("Taz_2023_04_28", ["https://taz.de/!p4616/rss.xml", "https://taz.de/rss.xml"]),
        (
            "Postillon_2024_04_25",
            [
                "https://www.der-postillon.com/feeds/posts/default",
                "https://www.der-postillon.com/feeds/posts/default?alt=rss",
            ],
        ),
        ("SZ_2023_04_28", ["https://rss.sueddeutsche.de/rss/Landkreis%20M%C3%BCnchen", "https://rss.sueddeutsche.de/rss/Topthemen"]),
    ],
)  # fmt: skip
def test_recorded_pages_announce_their_feeds(shared_data: Path, page_id: str, feeds: list[str]) -> None:
    recorded = page("fundus", page_id, shared_data)
    parsed = LexborHTMLParser(decode_page(recorded.data, "text/html").text)
    assert announced_feeds(parsed, recorded.gold.url, of_article=True) == feeds
