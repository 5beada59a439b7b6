"""The order of entries: by their dates, put right where these can't be, and by their addresses where there are none."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.stages.parser.feeds import read_feed
from issuetracker_dagster.stages.parser.links import Link
from issuetracker_dagster.stages.parser.recency import newest_first
from issuetracker_dagster.stages.parser.sitemaps import read_sitemap
from tests.stages.parser_world import NOW_MS, ParserWorld

HOUR_MS = 3_600_000
HOST = "https://a.example"


def moments(*links: Link) -> list[tuple[str, str]]:
    ordered = newest_first(links, NOW_MS)
    return [(link.url.removeprefix(HOST), at(link.published_ms)) for link in ordered]


def at(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M") if unix_ms else ""


def article(path: str, published_ms: int = 0) -> Link:
    return Link(f"{HOST}{path}", published_ms=published_ms)


def sitemap(path: str, published_ms: int = 0) -> Link:
    return Link(f"{HOST}{path}", TargetType.SITEMAP, published_ms)


def test_a_date_after_the_fetch_does_not_keep_an_entry_ahead_of_all_news() -> None:
    in_2099 = int(datetime(2099, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert moments(article("/sticky", in_2099), article("/new", NOW_MS - HOUR_MS), article("/undated")) == [
        ("/new", "2026-11-30 11:00"), ("/sticky", ""), ("/undated", ""),
    ]  # fmt: skip


def test_a_date_ahead_by_a_wrong_zone_stays() -> None:
    assert moments(article("/zone", NOW_MS + 14 * HOUR_MS)) == [("/zone", "2026-12-01 02:00")]


@pytest.mark.parametrize(
    ("path", "moment"),
    [
        ("/2026/11/28/bridge", "2026-11-28 23:59"),
        ("/news/2026-11-28-bridge", "2026-11-28 23:59"),
        ("/news/20261128/bridge.html", "2026-11-28 23:59"),
        ("/2026/11/30/bridge", "2026-11-30 12:00"),
        ("/2026/11/", ""),
        ("/2026/13/01/bridge", ""),
        ("/2026/02/30/bridge", ""),
        ("/article/2026112800123", ""),
        ("/article/20161399", ""),
        ("/2026/11-28/bridge", ""),
        ("/view?day=/2026/11/28", ""),
    ],
)
def test_the_day_in_an_address_dates_an_entry_without_a_date(path: str, moment: str) -> None:
    assert moments(article(path)) == [(path, moment)]


def test_a_told_date_wins_over_the_address() -> None:
    assert moments(article("/2026/11/28/bridge", NOW_MS - HOUR_MS))[0][1] == "2026-11-30 11:00"


def test_sitemaps_of_an_archive_come_newest_first_after_those_that_go_on() -> None:
    names = ["/2019.xml", "/posts-2026-10.xml", "/news.xml", "/posts-202611.xml", "/map?yyyy=2018", "/d/2026/11/29.xml"]
    ordered = newest_first([*map(sitemap, names), sitemap("/dated.xml", NOW_MS)], NOW_MS)
    assert [link.url.removeprefix(HOST) for link in ordered] == [
        "/dated.xml", "/news.xml", "/posts-202611.xml", "/d/2026/11/29.xml", "/posts-2026-10.xml", "/2019.xml",
        "/map?yyyy=2018",
    ]  # fmt: skip
    assert [link.published_ms for link in ordered[1:]] == [0] * 6, "a name is no reason to leave a sitemap out"


def test_old_addresses_of_undated_entries_are_not_crawled_again() -> None:
    world = ParserWorld()
    listed = "\n".join(f"https://news.example.com/{path}" for path in ("2016/05/12/old", "2026/11/29/new", "about"))
    payload = world.stored(
        listed, "https://news.example.com/sitemap.txt", TargetType.SITEMAP, content_type="text/plain"
    )
    jobs = world.handle(payload).links
    assert [job.url.rsplit("/", 1)[1] for job in jobs] == ["new", "about"]


def test_an_undeclared_news_prefix_still_tells_the_date() -> None:
    body = f"""<urlset><url><loc>{HOST}/1</loc><lastmod>2026-11-30</lastmod><image:loc>{HOST}/x.jpg</image:loc>
      <news:publication_date>2026-11-20T10:00:00Z</news:publication_date></url></urlset>""".encode()
    (link,) = read_sitemap(body, "", f"{HOST}/sitemap.xml", 10_000, NOW_MS)
    assert (link.url, at(link.published_ms)) == (f"{HOST}/1", "2026-11-20 10:00")


def test_relative_dates_of_a_feed_count_from_the_fetch() -> None:
    body = f"""<rss version="2.0"><channel><title>t</title><item><title>x</title><link>{HOST}/1</link>
      <pubDate>2 hours ago</pubDate></item></channel></rss>""".encode()
    (link,) = read_feed(body, "", f"{HOST}/rss", NOW_MS)
    assert at(link.published_ms) == "2026-11-30 10:00"


def test_a_recorded_news_sitemap_comes_newest_first(shared_data: Path) -> None:
    body = (shared_data / "sitemaps" / "extension" / "hebdenbridgetimes-articles-sitemap.xml").read_bytes()
    links = read_sitemap(body, "", f"{HOST}/sitemap.xml", 1_000_000, NOW_MS)
    told = [link.published_ms for link in links]
    assert len(links) == 74
    assert told == sorted(told, reverse=True)
    assert all(told)
