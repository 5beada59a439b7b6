"""`issuetracker try`: one page through the stages' own code, and nothing of it kept."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule, SelectorSpec
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.trial import Trial
from issuetracker_dagster.wiring.trial_rules import RuleBook, TrialRules
from tests.cli.members import CODE_SERVER, member
from tests.cli.terminal import Terminal
from tests.stages.http_site import Site, fixed, redirect, running_site

PLACE = "https://news.example.com/world/bridge"
TITLE = "Council votes to rebuild the bridge over the Tarn"
SENTENCES = (
    "The council of Millau voted on Monday to rebuild the bridge that a flood carried away in March.",
    "Mayor Anna Roche said the work would cost 12 million euros and take two years.",
    "Opponents wanted a ferry instead, which they said would be cheaper and ready by the summer.",
)
META = (
    '<meta property="article:published_time" content="2026-11-30T08:00:00+00:00"><meta name="author" content="Jo Lang">'
    '<meta property="og:description" content="Work on the new bridge begins in May.">'
)
SERIES = "".join(f"<p>{' '.join(SENTENCES)} This is part {number} of the report.</p>" for number in range(1, 7))
ARTICLE = (
    f'<html lang="en"><head><title>{TITLE}</title>{META}</head>'
    f"<body><article><h1>{TITLE}</h1>{SERIES}</article></body></html>"
)
SECTION = """<html><body><h1>World</h1>
  <a href="/world/a">A</a><a href="/world/a.jpg">A</a><a href="/login/x">in</a><a href="/tag/y">tag</a>
  <a href="/calendar/2091/04/">later</a><a href="https://other.example.org/z">other</a></body></html>"""


def tried(terminal: Terminal, *words: str, code: int = 0) -> dict[str, Any]:
    """The object that `--json` prints."""
    ended, output = terminal.run("try", *words, "--json")
    assert ended == code, output
    found: dict[str, Any] = json.loads(output)
    return found


def fields(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {field["name"]: field for field in found["parser"]["fields"]}


@pytest.fixture
def article(terminal: Terminal) -> list[str]:
    """The arguments that name a saved article."""
    terminal.write("page.html", ARTICLE)
    return ["page.html", "--url", PLACE]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> Iterator[Site]:
    """A web site that may be asked, whose answers are written in the test."""
    del terminal  # which clears all settings first
    monkeypatch.setenv("FETCH_ALLOW_PRIVATE_ADDRESSES", "true")
    with running_site() as running:
        yield running


def test_an_article_is_shown_with_fields_and_origins_verdict_and_enrichment(
    terminal: Terminal, article: list[str]
) -> None:
    found = tried(terminal, *article)
    assert found["fetch"] is None
    assert found["refused"] is None
    assert (found["parser"]["found"], found["parser"]["charset"]) == ("article", "utf-8")
    assert fields(found)["title"]["value"] == TITLE
    assert fields(found)["author"]["value"] == "Jo Lang"
    assert fields(found)["published_at"]["value"] == "2026-11-30T08:00:00+00:00"
    assert all(field["origin"] for field in found["parser"]["fields"])
    body = fields(found)["body"]
    assert len(body["value"]) <= 500 < body["length"]
    assert found["validate"]["accepted"]
    assert {"words", "meta", "structure"} <= found["validate"]["scores"].keys()
    assert found["enrich"]["language"] == "en"
    assert "bridge" in found["enrich"]["keywords"]
    assert any("12 million" in claim for claim in found["enrich"]["claims"])


def test_the_terminal_shows_a_block_for_each_stage(terminal: Terminal, article: list[str]) -> None:
    shown = terminal.does("try", *article)
    assert [line for line in shown.splitlines() if line and " " not in line] == ["parser", "validate", "enrich"]
    assert TITLE in shown
    assert "accepted" in shown


def test_nothing_is_stored(terminal: Terminal, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nAllow: /\nSitemap: /map.xml\n", Content_Type="text/plain")
    site.pages["/world"] = fixed(SECTION.encode())
    before = contents_of(terminal.folder / "issuetracker.db")
    assert tried(terminal, site.url("/world"))["parser"]["found"] == "index_page"
    assert tried(terminal, site.url("/world"), "--as", "category")["parser"]["found"] == "links"
    assert contents_of(terminal.folder / "issuetracker.db") == before


def contents_of(database: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables."""
    with sqlite3.connect(database) as opened:
        names = [name for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: opened.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}  # noqa: S608


def test_links_come_with_verdicts_and_the_priority_they_would_get(terminal: Terminal) -> None:
    terminal.write("world.html", SECTION)
    terminal.stores.parser_rules.add_to_blacklist(
        BlacklistEntry(host_pattern="news.example.com", path_pattern="^/login", mode=BlacklistMode.DROP)
    )
    options = {"exclude_patterns": "^/tag/", "same_host_only": "true"}
    terminal.stores.parser_rules.save(
        ParserRule(host_pattern="news.example.com", target_type=TargetType.CATEGORY, options=options)
    )
    terminal.does("rules", "add", "news.example.com", "^/world/", "--priority", "high", "--now")
    found = tried(terminal, "world.html", "--url", "https://news.example.com/world", "--as", "category")
    links = {link["url"].partition(".com")[2] or link["url"]: link for link in found["parser"]["links"]}
    assert {path: link["verdict"] for path, link in links.items()} == {
        "/world/a": "wanted",
        "/world/a.jpg": "no_page",
        "/login/x": "blacklisted",
        "/tag/y": "excluded",
        "/calendar/2091/04/": "trap",
        "https://other.example.org/z": "other_host",
    }
    assert (links["/world/a"]["priority"], links["/world/a"]["decided_by"]) == ("high", "rule 2")
    assert links["/tag/y"]["priority"] == ""
    assert found["parser"]["verdicts"]["wanted"] == 1
    shown = terminal.does("try", "world.html", "--url", "https://news.example.com/world", "--as", "category")
    assert "1 blacklisted, 1 excluded, 1 no_page, 1 other_host, 1 trap, 1 wanted" in shown


def test_links_beyond_the_limit_are_counted_and_not_wanted(terminal: Terminal) -> None:
    terminal.write("many.html", "".join(f'<a href="/story/{number}">s</a>' for number in range(250)))
    found = tried(terminal, "many.html", "--url", "https://news.example.com/", "--as", "category")
    assert found["parser"]["verdicts"] == {"wanted": 200, "over_limit": 50}
    assert len(found["parser"]["links"]) == 200


def test_a_rule_is_told_as_used_or_missed(terminal: Terminal, article: list[str]) -> None:
    rules = terminal.stores.parser_rules
    good = {"title": SelectorSpec(css="h1"), "main_content": SelectorSpec(css="article")}
    rules.save(ParserRule(host_pattern="news.example.com", selectors=good))
    found = tried(terminal, *article)
    assert found["parser"]["rule"] == "rule 1 (news.example.com any path, version 1): used"
    assert fields(found)["title"]["origin"] == "rule"
    missing = {**good, "title": SelectorSpec(css="h7")}
    rules.save(ParserRule(host_pattern="*.example.com", selectors=missing, enabled=False))
    assert tried(terminal, *article, "--rule", "2")["parser"]["rule"].endswith(": missed")
    assert "no rule 9" in terminal.fails("try", *article, "--rule", "9")
    assert "isn't about this page" in terminal.fails("try", article[0], "--url", "https://x.org/", "--rule", "1")
    assert "add --as article" in terminal.fails("try", *article, "--rule", "1", "--as", "feed")


def test_rules_of_a_file_go_before_those_stored(terminal: Terminal, article: list[str]) -> None:
    terminal.write("rules.yaml", RULES)
    found = tried(terminal, *article, "--rules-from", "rules.yaml")
    assert found["parser"]["rule"].startswith("a new rule (news.example.com")
    assert fields(found)["title"]["origin"] == "rule"
    assert "rules.yaml" in found["rules"]
    assert list(terminal.stores.parser_rules.all()) == []
    assert "exclude each other" in terminal.fails("try", *article, "--rules-from", "rules.yaml", "--rule", "1")


def test_rules_of_a_file_give_links_their_priority(terminal: Terminal) -> None:
    terminal.write("rules.yaml", RULES)
    terminal.write("world.html", SECTION)
    words = ["world.html", "--url", "https://news.example.com/world", "--as", "category"]
    first = tried(terminal, *words, "--rules-from", "rules.yaml")["parser"]["links"][0]
    assert (first["url"], first["priority"]) == ("https://news.example.com/world/a", "low")
    assert tried(terminal, *words)["parser"]["links"][0]["priority"] == "normal"


RULES = """rules:
  - host: news.example.com
    priority: low
    selectors: {title: h1, main_content: article}
"""


def test_without_a_database_it_goes_on_without_rules_and_says_so(
    terminal: Terminal, article: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = terminal.folder / "none" / "none.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{nowhere}")
    found = tried(terminal, *article)
    assert found["rules"].startswith("none, and no blacklist: ")
    assert found["validate"]["accepted"]
    assert "needs the rules" in terminal.fails("try", *article, "--rule", "1")
    assert not nowhere.parent.exists()


def test_no_database_is_made_where_there_is_none(
    terminal: Terminal, article: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = terminal.folder / "new.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{database}")
    assert str(database) in tried(terminal, *article)["rules"]
    assert not database.exists()


def test_a_url_is_fetched_with_its_redirects_and_the_verdict_of_robots(terminal: Terminal, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nCrawl-delay: 2\n", Content_Type="text/plain")
    site.pages["/old"] = redirect("/new")
    site.pages["/new"] = fixed(ARTICLE.encode("cp1252"), Content_Type="text/html; charset=windows-1252")
    fetch = tried(terminal, site.url("/old"))["fetch"]
    assert (fetch["status"], fetch["robots"], fetch["crawl_delay_ms"]) == (200, "allowed", 2_000)
    assert (fetch["redirects"], fetch["url"]) == ([site.url("/old")], site.url("/new"))
    assert fetch["bytes"] == len(ARTICLE)
    assert fetch["content_type"] == "text/html; charset=windows-1252"


def test_what_robots_disallows_is_not_asked(terminal: Terminal, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"User-agent: *\nDisallow: /\n", Content_Type="text/plain")
    found = tried(terminal, site.url("/a"), code=1)
    assert (found["refused"]["stage"], found["refused"]["code"]) == ("fetch", "robots_disallowed")
    assert (found["fetch"]["robots"], found["fetch"]["status"]) == ("disallowed", 0)
    assert found["parser"] is None
    assert site.hits["/a"] == 0
    assert "Refused by fetch, robots_disallowed: robots.txt of" in terminal.fails("try", site.url("/a"))


def test_the_guard_of_addresses_holds(terminal: Terminal, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETCH_ALLOW_PRIVATE_ADDRESSES", "false")
    assert tried(terminal, site.url("/a"), code=1)["refused"]["code"] == "private_address"
    assert not site.hits
    said = terminal.fails("try", site.url("/a"))
    assert "FETCH_ALLOW_PRIVATE_ADDRESSES=true before this command" in said


def test_the_guard_of_addresses_is_that_of_the_dagster_that_runs_here(
    terminal: Terminal, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FETCH_ALLOW_PRIVATE_ADDRESSES")
    site.pages["/robots.txt"] = fixed(b"", 404)
    site.pages["/a"] = fixed(ARTICLE.encode())
    home = terminal.folder / "home"
    home.mkdir(exist_ok=True)
    with member(home, *CODE_SERVER, FETCH_ALLOW_PRIVATE_ADDRESSES="false"):
        assert tried(terminal, site.url("/a"), code=1)["refused"]["code"] == "private_address"
    with member(home, *CODE_SERVER, FETCH_ALLOW_PRIVATE_ADDRESSES="true"):
        assert tried(terminal, site.url("/a"))["fetch"]["status"] == 200
    assert tried(terminal, site.url("/a"), code=1)["refused"]["code"] == "private_address"


def test_a_status_that_is_no_page_is_told(terminal: Terminal, site: Site) -> None:
    found = tried(terminal, site.url("/gone"), code=1)
    assert (found["fetch"]["status"], found["refused"]["code"]) == (404, "http_404")


def test_what_the_blacklist_drops_is_refused_with_that_reason(terminal: Terminal, article: list[str]) -> None:
    terminal.does("blacklist", "add", "news.example.com")
    assert tried(terminal, *article, code=1)["refused"]["code"] == "blacklisted"


def test_a_rejection_ends_with_1_and_its_scores(terminal: Terminal) -> None:
    terminal.write("short.html", f"<html><title>{TITLE}</title><article><h1>{TITLE}</h1><p>Soon.</p></article></html>")
    found = tried(terminal, "short.html", "--url", PLACE, code=1)
    assert found["refused"]["stage"] == "validate"
    assert found["refused"]["code"] == found["validate"]["code"]
    assert found["validate"]["scores"]
    assert found["enrich"] is None


def test_what_is_no_text_is_refused(terminal: Terminal) -> None:
    (terminal.folder / "page.html").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 20)
    assert tried(terminal, "page.html", "--url", PLACE, code=1)["refused"]["code"] == "not_text"


def test_a_page_can_not_steer_the_terminal(terminal: Terminal) -> None:
    evil = ARTICLE.replace(TITLE, f"{TITLE}\x1b]0;owned\x07\x1b[2J \u202egnp.exe").replace("Jo Lang", "Jo\x9b31m Lang")
    evil = evil.replace("The council of", "\x1b[31mThe \u2066council of")
    terminal.write("page.html", evil)
    for words in ([], ["--json"]):
        _, output = terminal.run("try", "page.html", "--url", PLACE, *words)
        assert TITLE in output
        assert not {sign for sign in output if (ord(sign) < 32 and sign != "\n") or 127 <= ord(sign) < 160}
        assert not set(output) & {"\u202e", "\u2066"}
        assert "\\u001b" not in output


def test_output_stays_bounded_whatever_the_page_holds(terminal: Terminal) -> None:
    long = "x" * 300_000
    links = "".join(f'<a href="/{"y" * 1_500}/{number}">l</a>' for number in range(3_000))
    terminal.write("long.html", f"<html><head><title>{long}</title></head><body><p>{long}</p>{links}</body></html>")
    for kind, most in (("article", 10_000), ("category", 400_000)):  # 200 links of up to 2,000 characters
        _, output = terminal.run("try", "long.html", "--url", PLACE, "--as", kind, "--json")
        assert len(output) < most


def test_a_page_that_uses_up_its_processor_time_is_refused(terminal: Terminal) -> None:
    del terminal  # its database is the one that is asked
    wiring = Wiring(Settings())
    book = RuleBook(wiring)
    limits = ParserOptions(processes=1, cpu_budget_s=0.05)
    trial = Trial(wiring, TrialRules(book.stored, PLACE), book, PLACE, TargetType.ARTICLE, limits)
    refused = trial.of_file(b"<p>x</p>" * 300_000, "text/html").refused
    assert refused is not None
    assert (refused.stage, refused.code) == (Stage.PARSER, "too_complex")


def test_who_can_not_be_reached_is_told_as_what_may_work_later(terminal: Terminal, site: Site) -> None:
    site.pages["/robots.txt"] = fixed(b"", 503)
    found = tried(terminal, site.url("/a"), code=1)
    assert (found["fetch"]["robots"], found["refused"]["code"]) == ("unavailable", "not_due")
    site.pages["/robots.txt"] = fixed(b"", 404)
    site.pages["/a"] = fixed(b"", 502)
    found = tried(terminal, site.url("/a"), code=1)
    assert (found["fetch"]["status"], found["refused"]["code"]) == (502, "transient")


def test_a_feed_is_told_by_its_entries(terminal: Terminal) -> None:
    items = "".join(f"<item><link>https://news.example.com/{name}</link><title>{name}</title></item>" for name in "ab")
    terminal.write("feed.xml", f'<rss version="2.0"><channel><title>t</title>{items}</channel></rss>')
    found = tried(terminal, "feed.xml", "--url", "https://news.example.com/rss", "--as", "feed")
    assert (found["parser"]["found"], found["parser"]["verdicts"]) == ("entries", {"wanted": 2})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.html", "--url", PLACE], "is neither the URL of a page"),
        (["ftp://example.com/a"], "write the whole URL"),
        (["page.html"], "say with --url where the page"),
        ([PLACE, "--url", PLACE], "--url goes with a FILE"),
    ],
)
def test_a_wrong_argument_says_what_to_write(terminal: Terminal, words: list[str], said: str) -> None:
    terminal.write("page.html", ARTICLE)
    assert said in " ".join(terminal.fails("try", *words).split())
