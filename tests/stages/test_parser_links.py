"""Which links of a page are worth a crawl job, which pages are indices, which canonical URLs are believed."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule
from issuetracker_dagster.stages.domains import registrable_domain
from issuetracker_dagster.stages.parser.blacklist import Blacklist
from issuetracker_dagster.stages.parser.canonical import believed_canonical, named_canonical
from issuetracker_dagster.stages.parser.choosing import Limits, LinkVerdict, by_rule, judge_links, wanted
from issuetracker_dagster.stages.parser.index_page import is_index_page
from issuetracker_dagster.stages.parser.links import discover, is_trap
from issuetracker_dagster.stages.parser.patterns import compiled, exactly, found_in, path_of
from issuetracker_dagster.stages.parser.selection import RuleOptions, options_of, rule_for
from tests.stages.parser_world import SENTENCE, article_html, read

URL = "https://a.example.com/news/"


def test_links_are_http_without_fragment_against_base_each_once_in_page_order() -> None:
    html = """<base href="/b/"><a href="2#x">2</a><a href="1">1</a><a href="2">2</a><a href="javascript:x()">j</a>
      <a href="mailto:a@b.c">m</a><a href="#top">t</a><a href=" https://c.example/x?id=y ">c</a><area href="3">
      <a href="https://a.example.com/news/">self</a><a href="http://[bad">bad</a><a>none</a>"""
    assert discover(LexborHTMLParser(html), URL) == [
        "https://a.example.com/b/2",
        "https://a.example.com/b/1",
        "https://c.example/x?id=y",
        "https://a.example.com/b/3",
    ]


def chosen(urls: list[str], limit: int = 200, options: RuleOptions | None = None) -> list[str]:
    judged = judge_links(
        urls,
        "a.example.com",
        options or RuleOptions(),
        blacklist=Blacklist(),
        is_category=lambda _url: False,
        limits=Limits(this_year=2026, max_length=2_000),
    )
    return [link.url for link in wanted(judged, limit)]


def test_links_of_the_same_host_come_first_and_the_rest_up_to_the_limit() -> None:
    urls = ["https://b.example/1", "https://a.example.com/1", "https://b.example/2", "https://a.example.com/2"]
    assert chosen(urls, limit=3) == ["https://a.example.com/1", "https://a.example.com/2", "https://b.example/1"]


def test_a_rule_may_keep_to_its_host() -> None:
    urls = ["https://b.example/1", "https://a.example.com/1"]
    assert chosen(urls, options=RuleOptions(same_host_only=True)) == ["https://a.example.com/1"]


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example.com/" + "x" * 2_000,
        "https://a.example.com/a/b/a/b/a/b",
        "https://a.example.com/cal/2031/05/",
        "https://a.example.com/cal/1843/1",
        "https://a.example.com/cal?year=2199",
        "https://a.example.com/" + "/".join(str(n) for n in range(30)),
    ],
)
def test_traps_are_refused(url: str) -> None:
    assert is_trap(url, this_year=2026, max_length=2_000)


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example.com/2026/11/30/story",
        "https://a.example.com/1998/05/story",
        "https://a.example.com/article/5000/12345678",
        "https://a.example.com/a/b/a/b",
        "https://a.example.com/view?year=2026",
    ],
)
def test_ordinary_article_urls_are_no_traps(url: str) -> None:
    assert not is_trap(url, this_year=2026, max_length=2_000)


def test_files_that_are_no_pages_are_not_crawled() -> None:
    assert by_rule("https://a.example.com/x.JPG?w=1", RuleOptions()) is LinkVerdict.NO_PAGE
    assert by_rule("https://a.example.com/x.html", RuleOptions()) is LinkVerdict.WANTED


def test_the_article_pattern_sees_path_and_query() -> None:
    options = RuleOptions(article_pattern=r"^/view\?id=\d+$")
    assert by_rule("https://a.example.com/view?id=12", options) is LinkVerdict.WANTED
    assert by_rule("https://a.example.com/list?page=1", options) is LinkVerdict.NO_ARTICLE


def test_a_pattern_that_does_not_compile_matches_nothing_and_breaks_nothing() -> None:
    assert not found_in("(", "/x")
    assert found_in("", "/x")
    assert not found_in(r"(?=x)", "/x")


def test_a_nested_quantifier_takes_linear_time() -> None:
    assert not found_in("(a+)+$", "a" * 100_000 + "!")


def test_a_remembered_path_matches_itself_only() -> None:
    assert found_in(exactly("/a.b/(c)+[d]?"), "/a.b/(c)+[d]?")
    assert not found_in(exactly("/a.b"), "/axb")
    assert not found_in(exactly("/a"), "/a/b")


@pytest.mark.parametrize("path", ["/tag/a", "/", "/a.b/(c)[d]{e}^f$g|h?i*j+k", "/x y", "/back\\slash", "/한글"])
def test_the_path_of_an_exact_expression_is_told(path: str) -> None:
    assert path_of(exactly(path)) == path


@pytest.mark.parametrize("expression", ["", "/tag/", "^/tag/", "^/a.c$", "^/a|/b$", r"^/\d$", "^$", "^"])
def test_an_expression_that_finds_more_than_one_path_has_none(expression: str) -> None:
    assert path_of(expression) is None


def test_sections_found_on_their_own_cost_a_link_nothing_however_many() -> None:
    sections = [
        BlacklistEntry(
            host_pattern="a.example.com",
            path_pattern=exactly(f"/t/{n}.html"),
            mode=BlacklistMode.EXTRACT_LINKS_ONLY,
            source="auto",
        )
        for n in range(5_000)
    ]
    entries = Blacklist(sections)
    compiled.cache_clear()
    assert entries.mode("https://a.example.com/t/7.html") is BlacklistMode.EXTRACT_LINKS_ONLY
    assert entries.mode("https://a.example.com/t/7xhtml") is None
    assert compiled.cache_info().misses == 0


def test_dropping_wins_over_extracting_links() -> None:
    entries = Blacklist(
        [
            BlacklistEntry(host_pattern="*.example.com", mode=BlacklistMode.EXTRACT_LINKS_ONLY),
            BlacklistEntry(host_pattern="a.example.com", path_pattern="^/x y$"),
        ]
    )
    assert entries.mode("https://a.example.com/x%20y") is BlacklistMode.DROP
    assert entries.mode("https://a.example.com/z") is BlacklistMode.EXTRACT_LINKS_ONLY
    assert entries.mode("https://example.com/z") is None


def test_the_exact_host_then_the_longest_path_then_the_newest_version_holds() -> None:
    def rule(rule_id: int, host: str, path: str = "", version: int = 1, enabled: bool = True) -> ParserRule:
        return ParserRule(rule_id=rule_id, host_pattern=host, path_pattern=path, version=version, enabled=enabled)

    rules = [
        rule(1, "*.example.com", "^/news/world/"), rule(2, "a.example.com"), rule(3, "a.example.com", "^/news/"),
        rule(4, "a.example.com", "^/news/", version=2), rule(5, "a.example.com", "^/news/x", enabled=False),
    ]  # fmt: skip
    found = rule_for(rules, "https://a.example.com/news/world/1")
    assert found is not None
    assert found.rule_id == 4
    assert rule_for(rules[2:], "https://a.example.com/sport") is None


def test_unreadable_options_fall_back_to_their_defaults() -> None:
    rule = ParserRule(host_pattern="a.example", options={"kind": "??", "exclude_patterns": "\n a \n\n b"})
    assert options_of(rule) == RuleOptions(exclude_patterns=("a", "b"))


def index(html: str, body_length: int = 0, *, has_date: bool = False) -> bool:
    page = LexborHTMLParser(html)
    return is_index_page(page, URL, body_length=body_length, has_date=has_date, min_body_length=200)


def test_five_links_or_mostly_links_make_an_index_only_without_body_and_date() -> None:
    five = "<body>" + "<a href='/x'>a link</a> and more words than that around it " * 5
    mostly = "<body><script>var long = 'text that nobody sees';</script><a href='/x'>a long enough link</a> us"
    few = "<body><a href='/x'>link</a> and a lot of words around a single link of this page"
    assert index(five)
    assert index(mostly)
    assert not index(few)
    assert not index(five, body_length=200)
    assert not index(five, has_date=True)
    assert not index("<body>" + "<a href='https://elsewhere.example/x'>link</a>" * 9)


def test_an_article_with_a_long_body_is_no_index_however_many_links_it_has() -> None:
    html = article_html(SENTENCE * 6 + "<a href='/1'>x</a>" * 30)
    assert not read(html).is_index
    assert read("<body>" + "<a href='/1'>story</a>" * 6, target_type=TargetType.ARTICLE).is_index


@pytest.mark.parametrize(
    ("named", "own", "believed"),
    [
        ("https://www.example.com/n/1", "https://m.example.com/n/1?ref=rss", True),
        ("https://www.example.co.kr/n/1", "https://m.example.co.kr/n/1", True),
        ("https://other.com/n/1", "https://m.example.com/n/1", False),
        ("https://evil.co.kr/n/1", "https://m.example.co.kr/n/1", False),
        ("https://b.blogspot.com/n/1", "https://a.blogspot.com/n/1", False),
        ("https://www.example.com/", "https://www.example.com/n/1", False),
        ("https://www.example.com/ko/", "https://www.example.com/n/1", False),
        ("https://www.example.com/index.html", "https://www.example.com/n/1", False),
        ("https://www.example.com/view", "https://www.example.com/view?id=7", False),
        ("https://www.example.com/view?id=7", "https://www.example.com/view?id=7&ref=x", True),
        ("https://www.example.com/story", "https://www.example.com/story?from=feed", True),
        ("http://127.0.0.1:8000/a", "http://127.0.0.1:8000/b", True),
        ("http://127.0.0.2:8000/a", "http://127.0.0.1:8000/b", False),
    ],
)
def test_a_canonical_url_is_believed_when_it_can_be_this_page(named: str, own: str, *, believed: bool) -> None:
    assert believed_canonical(named, own, own) == (named if believed else "")


def test_link_canonical_wins_over_og_url() -> None:
    page = LexborHTMLParser('<meta property="og:url" content="/b"><link rel="canonical" href="/a#x">')
    assert named_canonical(page, URL) == "https://a.example.com/a"
    assert named_canonical(LexborHTMLParser('<link rel=canonical href="javascript:x">'), URL) == ""


def test_registrable_domains_come_from_the_bundled_list() -> None:
    assert registrable_domain("news.a.co.kr") == "a.co.kr"
    assert registrable_domain("www.Example.com") == "example.com"
    assert registrable_domain("localhost") == "localhost"
