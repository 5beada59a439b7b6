"""What the crawler has to know of the demo site: its seeds, how its pages are read, and how fast it may be asked."""

from collections.abc import Iterator

from issuetracker_dagster.local.site.hosts import FORUM, HOSTS, Host
from issuetracker_dagster.local.site.newsroom import sections
from issuetracker_dagster.local.site.remembered import Remembered
from issuetracker_dagster.local.site.stories import section_path
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, FetcherRule, ParserRule, SelectorSpec
from issuetracker_dagster.model.seeds import Seed

_S = 1_000

_METRO = {
    "title": SelectorSpec(css="h2.headline"),
    "main_content": SelectorSpec(css=".copy"),
    "author": SelectorSpec(css=".byline .who"),
    "category": SelectorSpec(css=".crumbs .desk"),
    "tags": SelectorSpec(css=".topics li", multi=True),
    "summary": SelectorSpec(css=".standfirst"),
    "published_at": SelectorSpec(css=".byline .stamp"),
}
_FORUM = {
    "title": SelectorSpec(css="h1.subject"),
    "main_content": SelectorSpec(css=".post .message"),
    "author": SelectorSpec(css=".post .nick"),
    "published_at": SelectorSpec(css=".post .posted"),
}
_ARTICLES = r"-\d{3,}(\.html|/)?$|aid=\d{3,}$|/view/\d{3,}$|^/[a-z]+/\d{3,}/"
_BY_PATH = (("", Priority.NORMAL), ("^/breaking/", Priority.HIGH), ("^/archive/", Priority.LOW))


def seeds(found: Remembered) -> list[Seed]:
    """Feeds, sitemaps, front pages and sections of every host; breaking sections most often, at high priority."""
    return [seed for host in HOSTS for seed in _seeds_of(host, found)]


def _seeds_of(host: Host, found: Remembered) -> Iterator[Seed]:
    def seed(path: str, kind: TargetType, seconds: int, priority: Priority | None = None) -> Seed:
        return Seed(
            url=found.url(host.key, path),
            source=host.key,
            target_type=kind,
            interval_ms=seconds * _S,
            timeout_ms=10 * _S,
            priority=priority,
        )

    yield seed("/breaking/", TargetType.CATEGORY, 20, Priority.HIGH)
    yield seed(host.feed_path, TargetType.FEED, 20)
    yield seed("/news-sitemap.xml", TargetType.SITEMAP, 60)
    yield seed("/", TargetType.CATEGORY, 60)
    if not host.community:
        section = section_path(sections(host)[-1])
        yield seed(section, TargetType.CATEGORY, 60)
    yield seed("/archive/", TargetType.CATEGORY, 600, Priority.LOW)
    if host is FORUM:
        yield seed("/odd/", TargetType.CATEGORY, 600, Priority.LOW)


def parser_rules() -> list[ParserRule]:
    """How each host's pages are read and how urgent they are.

    Hosts that carry metadata need no selectors; rules for `/breaking/` and `/archive/` repeat those of their host,
    since the longest matching path decides alone.
    """
    found = [rule for host in HOSTS for rule in _rules_of(host)]
    odd = ParserRule(
        host_pattern=FORUM.name,
        path_pattern="^/odd/$",
        target_type=TargetType.CATEGORY,
        options={"exclude_patterns": "^/$\n^/breaking/$\n^/archive/$\n^/odd/$"},
        crawl_priority=int(Priority.LOW),
    )
    return [*found, odd]


def _rules_of(host: Host) -> Iterator[ParserRule]:
    selectors = _FORUM if host.community else _METRO if host.metadata == "visible" else {}
    options = {"kind": "community", "timezone": "UTC"} if host.community else {}
    if host.offset_minutes:
        options["timezone"] = "Asia/Seoul"
    for path, priority in _BY_PATH:
        # Odd pages of the forum are no threads: they are left to the general extractor.
        own_path = "^/t/" if host.community and not path else path
        yield ParserRule(
            host_pattern=host.name,
            path_pattern=own_path,
            selectors=selectors,
            options=options,
            crawl_priority=int(priority),
        )
    if host.community:
        yield ParserRule(
            host_pattern=host.name,
            path_pattern="^/(odd|calendar)/",
            crawl_priority=int(Priority.LOW),
            options={"date_required": "false"},
        )
    yield ParserRule(host_pattern=host.name, target_type=TargetType.CATEGORY, options={"article_pattern": _ARTICLES})


def fetcher_rules() -> list[FetcherRule]:
    """The site is our own, so it may be asked ten times a second."""
    return [
        FetcherRule(
            host_pattern=host.name,
            requests_per_hour=36_000,
            burst=20,
            concurrency=4,
            timeout_ms=10 * _S,
            source="demo",
        )
        for host in HOSTS
    ]


def blacklist() -> list[BlacklistEntry]:
    """Profiles of the forum's members are nobody's news."""
    return [BlacklistEntry(host_pattern=FORUM.name, path_pattern="^/user/", mode=BlacklistMode.DROP, source="demo")]
