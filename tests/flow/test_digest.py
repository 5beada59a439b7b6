"""The digest: what it tells, and that no title, host or URL from the web becomes more than text in it."""

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from issuetracker_dagster.flow.digest import figures, markdown, plain, sparkline
from issuetracker_dagster.flow.digest_page import page
from issuetracker_dagster.model.digest import (
    HOUR_MS,
    Digest,
    DigestContent,
    DigestIssue,
    counted_over_time,
    one_line,
    web_address,
)
from issuetracker_dagster.model.records import Issue, IssueState
from issuetracker_dagster.wiring.digest import keep_page
from tests.services import missing

NOW_MS = 1_796_040_000_000
HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    '"><svg onload=document.title="owned">',
    "[click](javascript:document.title='owned')",
    "</article></body><h1>Another page</h1>",
    "![x](http://evil.example.com/pixel.png) `code` **bold** | cell\n# head",
    "\u202egnp.exe \x00\x1b[31mred\ud800",
)
HOSTILE_URLS = (
    "javascript:document.title='owned'",
    "data:text/html,owned",
    'https://a.com/"onmouseover="x',
    "https://a.com/)>[x](y",
)


def content(
    title: str = "Elbe floods Dresden", url: str = "https://a.com/1", host: str = "a.com", hours_ago: float = 1
) -> DigestContent:
    return DigestContent(title=title, url=url, host=host, out_ms=NOW_MS - int(hours_ago * HOUR_MS), trust=0.6)


def digest(*contents: DigestContent, title: str = "Elbe floods Dresden") -> Digest:
    hosts = {each.host for each in contents}
    row = Issue(
        title=title, content_count=len(contents), source_count=len(hosts), velocity=2.5, state=IssueState.ACTIVE
    )
    found = DigestIssue(issue=row, contents=tuple(sorted(contents, key=lambda each: -each.out_ms)))
    return Digest(since_ms=NOW_MS - 24 * HOUR_MS, until_ms=NOW_MS, issues=(found,))


class Tags(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_digest() -> Digest:
    contents = [
        content(title, url, title, n) for n, title in enumerate(HOSTILE) for url in (*HOSTILE_URLS, "https://a.com/1")
    ]
    made = digest(*contents)
    issues = [
        DigestIssue(issue=Issue(title=title), contents=(each,)) for title, each in zip(HOSTILE, contents, strict=False)
    ]
    return Digest(since_ms=made.since_ms, until_ms=made.until_ms, issues=(*made.issues, *issues))


def test_an_issue_is_told_with_its_figures_sources_and_timeline() -> None:
    made = digest(content(), content(hours_ago=2), content("Nine bridges", "https://b.com/2", "b.com", 30))
    (issue,) = made.issues
    assert figures(issue) == "active, 3 contents, 2 sources, 2.5 an hour, trust 0.60"
    assert (issue.hosts, [each.host for each in issue.samples]) == (("a.com", "b.com"), ["a.com", "b.com"])
    said = markdown(made)
    assert "**Elbe floods Dresden**" in said
    assert "[a\\.com](<https://a.com/1>)" in said
    assert said.count("█") == 2
    shown = Tags(page(made))
    assert "active, 3 contents, 2 sources" in shown.text
    assert "Nine bridges" in shown.text
    assert [tag for tag, _ in shown.found].count("rect") == 2, "what is older than the digest counts nowhere"
    assert ("a", {"href": "https://a.com/1", "rel": "noopener noreferrer nofollow"}) in shown.found


def test_a_digest_without_issues_says_so() -> None:
    empty = Digest(since_ms=0, until_ms=NOW_MS, issues=())
    assert "Nothing has joined" in markdown(empty)
    assert "Nothing has joined" in page(empty)


def test_times_fall_into_equal_parts_and_any_count_shows() -> None:
    assert counted_over_time([0, 1, 50, 99, 100, 101, -1], 0, 100, 4) == [2, 0, 1, 2]
    assert sparkline([0, 1, 100]) == " ▁█"
    assert sparkline([0, 0]) == "  "


def test_hostile_titles_hosts_and_urls_add_no_element_no_attribute_and_no_script() -> None:
    shown = Tags(page(hostile_digest()))
    assert {tag for tag, _ in shown.found} <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "article", "svg", "rect", "line", "ul", "li",
        "a", "span",
    }  # fmt: skip
    attributes = {name for _, attributes in shown.found for name in attributes}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "style", "srcdoc")]
    addresses = [attributes.get("href") or "" for tag, attributes in shown.found if tag == "a"]
    assert addresses
    assert all(address.startswith(("http://", "https://")) for address in addresses)
    assert [tag for tag, _ in shown.found].count("h1") == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", shown.text)


def test_hostile_titles_are_text_in_markdown() -> None:
    said = markdown(hostile_digest())
    assert "<script" not in said
    assert "<img" not in said
    assert not re.search(r"(?<!\\)!\[", said)
    assert "javascript:" not in said
    assert plain(HOSTILE[5]).count("\n") == 0
    # The links are ours: an address in angle brackets that nothing inside can close.
    assert all(re.fullmatch(r"https?://[^<>\s]*", address) for address in re.findall(r"\]\(<(.*?)>\)", said))


def test_only_pages_of_the_web_are_linked() -> None:
    assert [web_address(url) for url in HOSTILE_URLS[:2]] == ["", ""]
    assert web_address("https://a.com/1") == "https://a.com/1"
    assert one_line("x" * 500).endswith("…")


def test_the_page_of_a_day_and_the_latest_are_kept(tmp_path: Path) -> None:
    path = keep_page(tmp_path, "one", NOW_MS)
    assert path == tmp_path / "reports" / "digest-2026-11-30.html"
    keep_page(tmp_path, "two", NOW_MS + 24 * HOUR_MS)
    texts = {each.name: each.read_text() for each in (tmp_path / "reports").iterdir()}
    assert texts == {"digest-2026-11-30.html": "one", "digest-2026-12-01.html": "two", "latest.html": "two"}


@pytest.mark.slow
def test_a_browser_shows_the_page_and_runs_nothing_of_it(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        missing("no Chromium on this machine")
    file = keep_page(tmp_path, page(hostile_digest()), NOW_MS)
    shown = subprocess.run(
        [
            *(str(browser), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
            *(
                "--disable-background-networking",
                "--disable-component-update",
                f"--user-data-dir={tmp_path / 'profile'}",
            ),
            *("--virtual-time-budget=2000", "--dump-dom", file.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=150,
        check=True,
    ).stdout
    assert "Elbe floods Dresden" in shown
    assert "<title>Issues of 2026-11-30" in shown, "a script has changed the page's title"
    assert "&lt;script&gt;document.title='owned'&lt;/script&gt;" in shown
