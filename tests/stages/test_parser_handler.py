"""The parser stage as the flow sees it: a reference in, a reference or crawl jobs out."""

import gzip

import pytest

from issuetracker_dagster.errors import Malformed, NeedsRefetch, PermanentError
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import RawContentRef
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule, SelectorSpec
from issuetracker_dagster.model.urls import ParameterRule, normalise
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import ExtractorCrashed
from issuetracker_dagster.stages.parser.reading import PageReading, PageRequest
from tests.stages.parser_world import NOW_MS, PAGE_URL, SENTENCE, ParserWorld, article_html

SECTION_URL = "https://news.example.com/world/"


@pytest.fixture
def world() -> ParserWorld:
    return ParserWorld()


def links_page(*hrefs: str) -> str:
    return "<html><body>" + "".join(f"<a href='{href}'>{href}</a>" for href in hrefs) + "</body></html>"


def test_an_article_is_stored_and_passed_on_as_a_reference(world: ParserWorld) -> None:
    head = (
        '<meta property="article:published_time" content="2026-11-30T10:00:00+09:00">'
        '<meta name="author" content="By Ann Lee">'
    )
    outcome = world.handle(world.stored(article_html(head=head)))
    content = world.content(outcome)
    assert outcome.links == ()
    assert content.url == PAGE_URL
    assert content.host == "news.example.com"
    assert content.title == "Council votes to rebuild the bridge"
    assert content.author == "Ann Lee"
    assert SENTENCE.strip() in content.body
    assert content.published_ms == 1_796_000_400_000
    assert (content.language, content.kind, content.source, content.root_id) == ("en", "news", "example-feed", "r1")
    assert content.field_sources["published_at"] == "opengraph"
    assert content.field_sources["body"] == "trafilatura"
    assert content.date_required is False


def test_the_same_page_again_is_the_same_content(world: ParserWorld) -> None:
    payload = world.stored(article_html())
    assert world.handle(payload) == world.handle(payload)


def test_a_raw_row_that_is_gone_asks_for_a_refetch(world: ParserWorld) -> None:
    payload = RawContentRef(
        raw_id=99, url=PAGE_URL, requested_url=PAGE_URL, target_type=TargetType.ARTICLE, fetched_ms=NOW_MS
    )
    with pytest.raises(NeedsRefetch):
        world.handle(payload)


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"", "text/html", "empty"),
        (b" \n\0\0", "text/html", "empty"),
        (b"<html><body></body></html>", "text/html", "empty"),
        (b"%PDF-1.7 ...", "text/html", "not_text"),
        (b"<p>x</p>", "image/png", "not_text"),
        (bytes(range(256)) * 100, "text/html", "not_text"),
    ],
)
def test_what_will_never_be_an_article_is_a_permanent_error(
    world: ParserWorld, body: bytes, content_type: str, code: str
) -> None:
    with pytest.raises(PermanentError) as caught:
        world.handle(world.stored(body, content_type=content_type))
    assert caught.value.code == code


def test_a_url_that_is_none_is_malformed(world: ParserWorld) -> None:
    payload = world.stored(article_html())
    with pytest.raises(Malformed):
        world.handle(
            RawContentRef(
                raw_id=payload.raw_id, url="x:y", requested_url="x:y", target_type=TargetType.ARTICLE, fetched_ms=NOW_MS
            )
        )


def test_a_rule_reads_its_page_and_says_what_validate_may_require(world: ParserWorld) -> None:
    rule = world.stores.parser_rules.save(
        ParserRule(
            host_pattern="news.example.com",
            selectors={"title": SelectorSpec(css=".t"), "main_content": SelectorSpec(css=".b p", multi=True)},
            options={"timezone": "Asia/Seoul"},
        )
    )
    html = "<h1>Site</h1><div class=t>The real title</div><div class=b><p>One.</p><p>Two.</p></div>"
    content = world.content(world.handle(world.stored(html)))
    assert (content.title, content.body) == ("The real title", "One.\n\nTwo.")
    assert content.field_sources == {"title": "rule", "body": "rule", "rule": f"used:{rule.rule_id}"}
    assert content.date_required is True


def test_a_rule_that_finds_nothing_gives_way_to_the_general_extractor_and_shows(world: ParserWorld) -> None:
    rule = world.stores.parser_rules.save(
        ParserRule(
            host_pattern="news.example.com",
            selectors={"title": SelectorSpec(css=".gone"), "main_content": SelectorSpec(css="p[[")},
        )
    )
    content = world.content(world.handle(world.stored(article_html())))
    assert content.title == "Council votes to rebuild the bridge"
    assert content.field_sources["rule"] == f"missed:{rule.rule_id}"
    assert content.field_sources["body"] == "trafilatura"


def test_a_community_rule_makes_community_contents_without_a_required_date(world: ParserWorld) -> None:
    world.stores.parser_rules.save(
        ParserRule(
            host_pattern="*.example.com",
            selectors={"title": SelectorSpec(css="h1"), "main_content": SelectorSpec(css="article p", multi=True)},
            options={"kind": "community"},
        )
    )
    content = world.content(world.handle(world.stored("<h1>Short post</h1><article><p>Hi all</p></article>")))
    assert (content.kind, content.date_required) == ("community", False)


def test_the_canonical_url_names_the_content(world: ParserWorld) -> None:
    head = '<link rel="canonical" href="https://www.example.com/world/1?utm_source=x">'
    outcome = world.handle(world.stored(article_html(head=head)))
    assert world.content(outcome).url == "https://www.example.com/world/1"
    assert world.content(outcome).canonical_url == "https://www.example.com/world/1"


@pytest.mark.parametrize("named", ["by a redirect", "as canonical"])
def test_7_pages_that_a_host_tells_apart_by_a_tracking_name_stay_apart(named: str) -> None:
    def name_of(url: str) -> str:
        return normalise(url, rule=ParameterRule(keep=frozenset({"rss"}), drop=frozenset({"sid"})))

    world = ParserWorld(name_of=name_of)
    urls = [f"https://news.example.com/view?rss={number}" for number in (1, 2)]
    if named == "by a redirect":
        pages = [world.stored(article_html(), f"{url}&sid=9", requested_url=f"{url}&old") for url in urls]
    else:
        pages = [world.stored(article_html(head=f'<link rel="canonical" href="{url}">'), f"{url}&x=1") for url in urls]
    contents = [world.content(world.handle(page)) for page in pages]
    assert [content.url for content in contents] == urls
    assert len({content.content_id for content in contents}) == 2


def test_a_canonical_url_too_long_for_a_message_is_not_believed(world: ParserWorld) -> None:
    head = f'<link rel="canonical" href="https://www.example.com/{"a" * 2_000_000}">'
    stored = world.stored(article_html(head=head))
    assert world.content(world.handle(stored)).url == stored.url


def test_a_canonical_url_that_redirects_here_is_a_loop_and_not_believed(world: ParserWorld) -> None:
    requested = "https://news.example.com/old/1"
    html = article_html(head=f'<link rel="canonical" href="{requested}">')
    assert world.content(world.handle(world.stored(html, requested_url=requested))).url == PAGE_URL


def test_links_of_a_category_become_jobs_one_deeper(world: ParserWorld) -> None:
    html = links_page("1", "/world/2#c", "https://other.example.org/3", "mailto:x@y.z", "1")
    outcome = world.handle(world.stored(html, SECTION_URL, TargetType.CATEGORY, depth=1))
    assert outcome.forward is None
    assert outcome.note == "links"
    assert [job.url for job in outcome.links] == [
        "https://news.example.com/world/1",
        "https://news.example.com/world/2",
        "https://other.example.org/3",
    ]
    job = outcome.links[0]
    assert (job.depth, job.source, job.crawler, job.timeout_ms) == (2, "example-feed", "news", 12_000)
    assert {job.target_type for job in outcome.links} == {TargetType.ARTICLE}


def test_no_links_follow_from_a_page_at_the_greatest_depth(world: ParserWorld) -> None:
    payload = world.stored(links_page("/1"), SECTION_URL, TargetType.CATEGORY, depth=world.options.max_depth)
    assert world.handle(payload).links == ()
    assert world.handle(payload).note == "too_deep"


def test_a_category_rule_picks_articles_and_other_categories(world: ParserWorld) -> None:
    rules = world.stores.parser_rules
    rules.save(
        ParserRule(
            host_pattern="news.example.com",
            target_type=TargetType.CATEGORY,
            path_pattern="^/world/(page/|$)",
            options={"article_pattern": r"^/world/\d+$", "exclude_patterns": "/world/13$\n/ads/"},
        )
    )
    html = links_page("/world/12", "/world/13", "/about", "/world/page/2", "/ads/world/14")
    outcome = world.handle(world.stored(html, SECTION_URL, TargetType.CATEGORY))
    assert [(job.url.removeprefix("https://news.example.com"), job.target_type) for job in outcome.links] == [
        ("/world/12", TargetType.ARTICLE),
        ("/world/page/2", TargetType.CATEGORY),
    ]


def test_a_blacklisted_link_is_dropped_or_crawled_for_its_links_only(world: ParserWorld) -> None:
    rules = world.stores.parser_rules
    rules.add_to_blacklist(BlacklistEntry(host_pattern="news.example.com", path_pattern="^/login"))
    rules.add_to_blacklist(
        BlacklistEntry(host_pattern="news.example.com", path_pattern="^/tag/", mode=BlacklistMode.EXTRACT_LINKS_ONLY)
    )
    html = links_page("/login?x=1", "/tag/flood", "/1")
    outcome = world.handle(world.stored(html, SECTION_URL, TargetType.CATEGORY))
    assert [(job.url.rsplit("/", 1)[1], job.target_type) for job in outcome.links] == [
        ("flood", TargetType.CATEGORY),
        ("1", TargetType.ARTICLE),
    ]


def test_an_index_page_is_not_stored_but_followed_and_remembered(world: ParserWorld) -> None:
    html = links_page(*(f"/world/{n}" for n in range(10, 16)))
    payload = world.stored(html, SECTION_URL)
    outcome = world.handle(payload)
    assert (outcome.forward, outcome.note, len(outcome.links)) == (None, "index_page", 6)
    (entry,) = world.stores.parser_rules.blacklist()
    assert entry == BlacklistEntry(
        host_pattern="news.example.com",
        path_pattern="^/world/$",
        mode=BlacklistMode.EXTRACT_LINKS_ONLY,
        source="auto",
        entry_id=entry.entry_id,
    )
    assert world.handle(payload).note == "links"


@pytest.mark.parametrize("url", [f"https://news.example.com/{'a' * 600}", "https://-odd.example.com/tag"])
def test_an_index_page_never_spoils_the_blacklist_for_those_who_read_it(world: ParserWorld, url: str) -> None:
    links = "".join(f'<a href="/s/{number}">Story number {number}</a>' for number in range(6))
    assert world.handle(world.stored(f"<title>Section</title><body>{links}</body>", url)).note == "index_page"
    HostTable((entry.host_pattern, entry.path_pattern, entry.mode) for entry in world.stores.parser_rules.blacklist())


def test_links_of_an_index_page_are_judged_by_the_rule_of_its_hosts_categories(world: ParserWorld) -> None:
    world.stores.parser_rules.save(
        ParserRule(
            host_pattern="news.example.com",
            target_type=TargetType.CATEGORY,
            options={"article_pattern": r"^/world/\d+$"},
        )
    )
    html = links_page("/world/10", "/about", "/imprint", "/world/11", "/jobs")
    outcome = world.handle(world.stored(html, SECTION_URL))
    assert [job.url.rsplit("/", 1)[1] for job in outcome.links] == ["10", "11"]


def test_a_forum_is_not_blacklisted_whole_for_one_thread_that_looks_like_an_index(world: ParserWorld) -> None:
    html = links_page(*(f"/view?id={n}" for n in range(6)))
    outcome = world.handle(world.stored(html, "https://news.example.com/view?id=9"))
    assert outcome.note == "index_page"
    assert list(world.stores.parser_rules.blacklist()) == []


def test_a_blacklisted_page_is_not_parsed(world: ParserWorld) -> None:
    world.stores.parser_rules.add_to_blacklist(BlacklistEntry(host_pattern="*.example.com"))
    assert world.handle(world.stored(article_html())).note == "blacklisted"


def test_feed_entries_become_jobs_newest_first_without_the_old_ones(world: ParserWorld) -> None:
    def item(name: str, date: str) -> str:
        return f"<item><title>x</title><link>https://news.example.com/{name}</link><pubDate>{date}</pubDate></item>"

    body = (
        "<rss version='2.0'><channel><title>t</title>"
        + item("yesterday", "Sun, 29 Nov 2026 10:00:00 +0000")
        + item("today", "Mon, 30 Nov 2026 10:00:00 +0000")
        + item("last-year", "Sun, 30 Nov 2025 10:00:00 +0000")
        + "<item><title>y</title><link>https://news.example.com/undated</link></item></channel></rss>"
    )
    outcome = world.handle(world.stored(body, "https://news.example.com/rss", TargetType.FEED))
    assert [job.url.rsplit("/", 1)[1] for job in outcome.links] == ["today", "yesterday", "undated"]
    assert {job.target_type for job in outcome.links} == {TargetType.ARTICLE}


def test_a_gzipped_sitemap_index_leads_to_sitemap_jobs(world: ParserWorld) -> None:
    body = b"<sitemapindex><sitemap><loc>/s1.xml</loc></sitemap><sitemap><loc>/s2.xml</loc></sitemap></sitemapindex>"
    payload = world.stored(gzip.compress(body), "https://news.example.com/sitemap.xml.gz", TargetType.SITEMAP)
    assert [job.target_type for job in world.handle(payload).links] == [TargetType.SITEMAP] * 2


def test_a_feed_or_sitemap_yields_no_more_jobs_than_the_limit() -> None:
    world = ParserWorld(options=ParserOptions(max_entries=3))
    body = "<urlset>" + "".join(f"<url><loc>https://a.example/{n}</loc></url>" for n in range(9)) + "</urlset>"
    assert len(world.handle(world.stored(body, "https://a.example/s.xml", TargetType.SITEMAP)).links) == 3


class CrashingReader:
    """A reader whose process dies over each page."""

    def __init__(self) -> None:
        self.closed = False

    def read(self, request: PageRequest) -> PageReading:
        raise ExtractorCrashed("exit code -11")

    def close(self) -> None:
        self.closed = True


def test_one_crash_is_tried_again_and_a_second_is_the_pages_fault() -> None:
    world = ParserWorld(reader=CrashingReader())
    payload = world.stored(article_html())
    with pytest.raises(ExtractorCrashed):
        world.handle(payload, attempt=1)
    with pytest.raises(PermanentError) as caught:
        world.handle(payload, attempt=2)
    assert caught.value.code == "extractor_crashed"


def test_closing_the_handler_closes_its_reader() -> None:
    reader = CrashingReader()
    ParserWorld(reader=reader).handler.close()
    assert reader.closed


def test_a_changed_rule_is_seen_after_the_rules_have_grown_old(world: ParserWorld) -> None:
    payload = world.stored("<h1>First heading</h1><div class=b>Short.</div>" + SENTENCE)
    assert "rule" not in world.content(world.handle(payload)).field_sources
    world.stores.parser_rules.save(
        ParserRule(
            host_pattern="news.example.com",
            selectors={"title": SelectorSpec(css="h1"), "main_content": SelectorSpec(css=".b")},
        )
    )
    world.clock.advance(world.options.rules_ttl_ms)
    assert world.content(world.handle(payload)).body == "Short."
