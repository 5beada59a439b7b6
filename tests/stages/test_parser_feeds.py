import contextlib
import gzip
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.urls import normalise
from issuetracker_dagster.stages.parser.blacklist import Blacklist
from issuetracker_dagster.stages.parser.choosing import Limits, LinkVerdict, judge_entries
from issuetracker_dagster.stages.parser.feeds import read_feed
from issuetracker_dagster.stages.parser.links import Link
from issuetracker_dagster.stages.parser.selection import RuleOptions
from issuetracker_dagster.stages.parser.sitemaps import read_sitemap

FEED_URL = "https://news.example.kr/rss.xml"
SITEMAP_URL = "https://news.example.com/sitemap.xml"
MEGABYTE = 1024 * 1024
PROMISED_LINK = re.compile(rb"Expect:[^\n]*entries\[0\]\['link(?:s'\]\[0\]\['href)?'\] == '(http[^']+)'")


def rss(*items: str, language: str = "ko", encoding: str = "utf-8") -> bytes:
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><rss version="2.0"><channel><title>뉴스</title>'
        f"<link>https://news.example.kr/</link><language>{language}</language>{''.join(items)}</channel></rss>"
    )
    return text.encode(encoding)


def item(link: str, date: str = "") -> str:
    return f"<item><title>제목 펲</title><link>{link}</link>{f'<pubDate>{date}</pubDate>' if date else ''}</item>"


def at(link: Link) -> str:
    moment = datetime.fromtimestamp(link.published_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M") if link.published_ms else ""


def test_entries_come_newest_first_and_undated_ones_last() -> None:
    body = rss(
        item("/old", "Mon, 02 Nov 2026 10:00:00 +0900"),
        item("/none"),
        item("/new", "Mon, 30 Nov 2026 10:00:00 +0900"),
    )
    assert [link.url.rsplit("/", 1)[1] for link in read_feed(body, "", FEED_URL)] == ["new", "old", "none"]


@pytest.mark.parametrize(
    ("date", "utc"),
    [
        ("Mon, 30 Nov 2026 10:00:00 KST", "2026-11-30 01:00"),
        ("Mon, 30 Nov 2026 10:00:00 UTC+9", "2026-11-30 01:00"),
        ("Mon, 30 Nov 2026 10:00:00", "2026-11-30 01:00"),
        ("2026-11-30 10:00:00", "2026-11-30 01:00"),
        ("2016/6/29 15:07:41", "2016-06-29 06:07"),
        ("2026년 11월 30일 10시 00분", "2026-11-30 01:00"),
        ("Mon, 30 Nov 2026 10:00:00 GMT", "2026-11-30 10:00"),
    ],
)
def test_dates_of_korean_feeds_are_not_nine_hours_off(date: str, utc: str) -> None:
    (link,) = read_feed(rss(item("https://news.example.kr/1", date)), "text/xml", FEED_URL)
    assert at(link) == utc


def test_a_feed_in_cp949_is_read_by_its_declaration() -> None:
    body = rss(item("https://news.example.kr/1", "Mon, 30 Nov 2026 10:00:00 +0900"), encoding="cp949")
    (link,) = read_feed(body.replace(b'encoding="cp949"', b'encoding="euc-kr"'), "application/xml", FEED_URL)
    assert at(link) == "2026-11-30 01:00"


def test_links_are_normalised_and_come_once() -> None:
    body = rss(item("/a#x"), item("https://news.example.kr/a"), item("javascript:alert(1)"))
    assert [link.url for link in read_feed(body, "", FEED_URL) if link.is_url] == ["https://news.example.kr/a"]


def verdicts(links: list[Link]) -> list[tuple[str, LinkVerdict]]:
    limits = Limits(this_year=2026, max_length=2_000)
    judged = judge_entries(links, RuleOptions(), blacklist=Blacklist(), oldest_ms=0, limits=limits)
    return [(each.link.url, each.verdict) for each in judged]


def test_an_entry_without_a_usable_address_is_refused_with_a_reason() -> None:
    body = rss(item("javascript:alert(1)"), item("https://a.example/1"), "<item><title>Only a title</title></item>")
    assert verdicts(read_feed(body, "", FEED_URL)) == [
        ("javascript:alert(1)", LinkVerdict.NO_URL), ("https://a.example/1", LinkVerdict.WANTED),
        ("Only a title", LinkVerdict.NO_URL),
    ]  # fmt: skip
    sitemap = b"<urlset><url><loc>ftp://a.example/1</loc></url><url><lastmod>2026-11-30</lastmod></url></urlset>"
    assert verdicts(read_sitemap(sitemap, "", SITEMAP_URL, MEGABYTE)) == [
        ("ftp://a.example/1", LinkVerdict.NO_URL), ("an entry without an address", LinkVerdict.NO_URL),
    ]  # fmt: skip


def test_a_page_in_the_place_of_a_feed_says_which_feed_it_announces() -> None:
    page = b'<html><head><link rel="alternate" type="application/rss+xml" href="/all.xml"></head><body>x</body></html>'
    with pytest.raises(PermanentError, match=r"announces https://news\.example\.kr/all\.xml") as caught:
        read_feed(page, "text/html", FEED_URL)
    assert caught.value.code == "not_a_feed"


def test_atom_updates_and_json_feeds_are_feeds_too() -> None:
    atom = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><title>x</title><id>urn:1</id>'
        b'<link rel="alternate" href="/a1"/><updated>2026-11-30T10:00:00Z</updated></entry></feed>'
    )
    json_feed = (
        b'{"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": '
        b'[{"id": "1", "url": "https://a.example/1", "date_published": "2026-11-30T10:00:00+09:00"}]}'
    )
    assert [(link.url, at(link)) for link in read_feed(atom, "", "https://a.example/f")] == [
        ("https://a.example/a1", "2026-11-30 10:00")
    ]
    assert [(link.url, at(link)) for link in read_feed(json_feed, "", "https://a.example/f")] == [
        ("https://a.example/1", "2026-11-30 01:00")
    ]


def test_a_feed_that_breaks_off_gives_what_it_held() -> None:
    body = rss(item("/1", "Mon, 30 Nov 2026 10:00:00 +0900"), item("/2"))
    cut = body[: body.index(b"/2")]
    assert [link.url for link in read_feed(cut, "", FEED_URL)][:1] == ["https://news.example.kr/1"]


@pytest.mark.parametrize("body", [b"<html><body>404</body></html>", b"not a feed", b"\x00\xff\xfe garbage", b"{}"])
def test_what_is_no_feed_is_a_permanent_error(body: bytes) -> None:
    with pytest.raises(PermanentError) as caught:
        read_feed(body, "text/html", FEED_URL)
    assert caught.value.code == "not_a_feed"


def test_a_prefix_that_the_feed_forgot_to_declare_still_names_a_date() -> None:
    body = b"""<rss version="2.0"><channel><title>t</title><item><title>x</title><link>https://news.example.kr/1</link>
      <dc:date>2026-11-30T10:00:00+09:00</dc:date></item></channel></rss>"""
    (link,) = read_feed(body, "", FEED_URL)
    assert at(link) == "2026-11-30 01:00"


@pytest.mark.parametrize(
    "poison", [b"&#x110000;", b"<cc:license/>", b'<link xmlns:a="" href="http://["/>', b"\xed\xa0\x80"]
)
def test_whatever_a_reader_library_trips_over_is_no_bug_of_ours(poison: bytes) -> None:
    body = rss(item("/1"), item("/2")).replace(b"<item>", poison + b"<item>" + poison)
    with contextlib.suppress(PermanentError):
        read_feed(body[:-30], "", FEED_URL)


def test_entities_are_neither_fetched_nor_blown_up() -> None:
    bomb = (
        b'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY a "' + b"lol" * 1000 + b'">'
        b'<!ENTITY b "' + b"&a;" * 1000 + b'"><!ENTITY c "' + b"&b;" * 1000 + b'">]><rss version="2.0"><channel>'
        b"<title>&x;</title><item><title>&c;</title><link>https://a.example/1</link></item></channel></rss>"
    )
    links = read_feed(bomb, "", FEED_URL)
    assert all("root" not in link.url for link in links)


def test_recorded_feeds_give_the_links_that_they_promise(shared_data: Path) -> None:
    checked = 0
    for path in sorted((shared_data / "feeds" / "wellformed").iterdir()):
        body = path.read_bytes()
        if promised := PROMISED_LINK.search(body):
            checked += 1
            links = read_feed(body, "", "http://127.0.0.1:8097/tests/feed.xml")
            assert normalise(promised[1].decode()) in [link.url for link in links], path.name
    assert checked >= 2


def test_recorded_feeds_with_entries_are_taken_for_feeds(shared_data: Path) -> None:
    for path in sorted((shared_data / "feeds" / "wellformed").iterdir()):
        body = path.read_bytes()
        if b"entries[0]" in body:
            read_feed(body, "", FEED_URL)


def test_no_recorded_illformed_feed_breaks_the_reader(shared_data: Path) -> None:
    for path in sorted((shared_data / "feeds" / "illformed").iterdir()):
        with contextlib.suppress(PermanentError):
            read_feed(path.read_bytes(), "", FEED_URL)


RECORDED = [
    ("sitemap.ns.xml", 2), ("sitemap.badns.xml", 2), ("sitemap.txt", 2), ("sitemap.txt.gz", 5), ("xmlSitemap.gz", 5),
    ("sitemap-with-bom.txt", 1), ("atom.xml", 1), ("extension/sitemap-news.xml", 1),
    ("extension/sitemap-images.xml", 1), ("extension/sitemap-links.xml", 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fewest"), RECORDED)
def test_recorded_sitemaps_of_every_form_are_read(shared_data: Path, name: str, fewest: int) -> None:
    links = read_sitemap((shared_data / "sitemaps" / name).read_bytes(), "", SITEMAP_URL, MEGABYTE)
    assert len(links) >= fewest
    assert {link.target_type for link in links} == {TargetType.ARTICLE}


def test_an_index_leads_to_sitemaps_even_without_loc(shared_data: Path) -> None:
    links = read_sitemap((shared_data / "sitemaps" / "sitemap.index.xml").read_bytes(), "", SITEMAP_URL, MEGABYTE)
    assert len(links) > 5
    assert {link.target_type for link in links} == {TargetType.SITEMAP}
    assert links[0].url == "https://example.com/sitemap.jss?portalCode=10260&lang=en"


def test_the_news_date_wins_over_lastmod_and_orders_entries() -> None:
    body = b"""<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
      xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
      xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
      <url><loc>https://a.example/1</loc><lastmod>2026-11-30</lastmod>
        <news:news><news:publication_date>2026-11-20T10:00:00+09:00</news:publication_date></news:news></url>
      <url><image:image><image:loc>https://a.example/x.jpg</image:loc></image:image><loc>https://a.example/2</loc>
        <lastmod>2026-11-29</lastmod></url></urlset>"""
    links = read_sitemap(body, "", SITEMAP_URL, MEGABYTE)
    assert [(link.url, at(link)) for link in links] == [
        ("https://a.example/2", "2026-11-29 00:00"),
        ("https://a.example/1", "2026-11-20 01:00"),
    ]


def test_a_sitemap_that_breaks_off_gives_what_it_held() -> None:
    body = b"<urlset><url><loc>https://a.example/1</loc></url><url><loc>https://a.exam"
    assert [link.url for link in read_sitemap(body, "", SITEMAP_URL, MEGABYTE)] == ["https://a.example/1"]


def test_gzip_is_known_by_its_bytes_and_capped_while_unpacking() -> None:
    body = b"<urlset>" + b"<url><loc>https://a.example/1</loc></url>" * 100 + b"</urlset>"
    assert len(read_sitemap(gzip.compress(gzip.compress(body)), "text/plain", SITEMAP_URL, MEGABYTE)) == 1
    with pytest.raises(PermanentError) as caught:
        read_sitemap(gzip.compress(b" " * 20 * MEGABYTE), "", SITEMAP_URL, MEGABYTE)
    assert caught.value.code == "too_large"


@pytest.mark.parametrize("body", [b"<html><p>404</p></html>", b"nothing here", b"\x1f\x8bbroken"])
def test_what_is_no_sitemap_is_a_permanent_error(body: bytes) -> None:
    with pytest.raises(PermanentError) as caught:
        read_sitemap(body, "", SITEMAP_URL, MEGABYTE)
    assert caught.value.code in ("not_a_sitemap", "bad_gzip")


def test_a_sitemap_never_leads_to_itself() -> None:
    body = f"<sitemapindex><sitemap><loc>{SITEMAP_URL}</loc></sitemap></sitemapindex>".encode()
    assert read_sitemap(body, "", SITEMAP_URL, MEGABYTE) == []


def test_ten_thousand_urls_are_read_in_a_second_or_two() -> None:
    entries = "".join(
        f"<url><loc>https://a.example/{n}</loc><lastmod>2026-11-30</lastmod></url>" for n in range(10_000)
    )
    started = time.process_time()
    assert len(read_sitemap(f"<urlset>{entries}</urlset>".encode(), "", SITEMAP_URL, 50 * MEGABYTE)) == 10_000
    assert time.process_time() - started < 2
