"""Links of a page, and which of them are worth a crawl job."""

import re
from collections.abc import Callable, Iterator, Sequence

import msgspec
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistMode
from issuetracker_dagster.model.urls import BadUrl, host_of, parse_http, spelled
from issuetracker_dagster.stages.parser.blacklist import Blacklist
from issuetracker_dagster.stages.parser.patterns import found_in, path_and_query
from issuetracker_dagster.stages.parser.selection import RuleOptions

_YEAR = re.compile(r"/(\d{4})/(\d{1,2})(?=/|$)")
_YEAR_IN_QUERY = re.compile(r"[?&](?:year|yyyy|y)=(\d{4})(?!\d)", re.IGNORECASE)
_FIRST_YEAR = 1990
_REPEATS = 3
_DEEPEST_PATH = 20
_MOST_CANDIDATES = 5_000
_NO_PAGE = re.compile(
    r"\.(?:jpe?g|png|gif|webp|svg|ico|css|js|mp[34]|avi|mov|wmv|zip|gz|7z|rar|exe|dmg|apk|pdf|docx?|xlsx?|pptx?|hwpx?)$",
    re.IGNORECASE,
)


class Link(msgspec.Struct, frozen=True):
    """A link to crawl; `published_ms` is 0 unless a feed or sitemap told it."""

    url: str
    target_type: TargetType = TargetType.ARTICLE
    published_ms: int = 0


def base_of(page: LexborHTMLParser, url: str) -> str:
    """The URL that relative links hang on: `<base>` when it makes one, else the page's own."""
    node = page.css_first("base[href]")
    href = node.attributes.get("href") if node else None
    try:
        return str(parse_http(href, url).href) if href else url
    except BadUrl:
        return url


def discover(page: LexborHTMLParser, url: str) -> list[str]:
    """Spelled http(s) links of the page in page order, each once, without the page itself; at most 5,000."""
    base = base_of(page, url)
    found: dict[str, None] = {}
    for node in page.css("a[href], area[href]"):
        href = (node.attributes.get("href") or "").strip()
        if not href or href.startswith("#"):
            continue
        try:
            found[spelled(href, base)] = None
        except BadUrl:
            continue
        if len(found) >= _MOST_CANDIDATES:
            break
    found.pop(url, None)
    return list(found)


def is_trap(url: str, *, this_year: int, max_length: int) -> bool:
    """Whether following such links never ends: over-long, ever deeper, a calendar that goes on for ever."""
    if len(url) > max_length:
        return True
    target = path_and_query(url)
    segments = [segment for segment in target.partition("?")[0].split("/") if segment]
    if len(segments) > _DEEPEST_PATH or any(segments.count(segment) >= _REPEATS for segment in set(segments)):
        return True
    years = [int(year) for year in _YEAR_IN_QUERY.findall(target)]
    years += [int(year) for year, month in _YEAR.findall(target) if 1 <= int(month) <= 12]
    return any(not _FIRST_YEAR <= year <= this_year + 1 for year in years)


def is_wanted(url: str, options: RuleOptions) -> bool:
    """Whether the rule's article pattern and excludes let the link through; files that are no pages never pass."""
    target = path_and_query(url)
    if _NO_PAGE.search(target.partition("?")[0]):
        return False
    if any(found_in(exclude, target) for exclude in options.exclude_patterns):
        return False
    return found_in(options.article_pattern, target)


def same_host_first(urls: Sequence[str], host: str) -> Iterator[str]:
    """The host's own links, then the others, each in page order."""
    others: list[str] = []
    for url in urls:
        if host_of(url) == host:
            yield url
        else:
            others.append(url)
    yield from others


def choose(
    urls: Sequence[str],
    host: str,
    options: RuleOptions,
    *,
    blacklist: Blacklist,
    is_category: Callable[[str], bool],
    this_year: int,
    max_length: int,
    limit: int,
) -> list[Link]:
    """The links of a category page that become jobs, at most `limit`, same host first.

    A link to another category passes the article pattern by, or paging would end at the first page.
    """
    chosen: list[Link] = []
    for url in same_host_first(urls, host):
        if len(chosen) >= limit:
            break
        if (options.same_host_only and host_of(url) != host) or is_trap(
            url, this_year=this_year, max_length=max_length
        ):
            continue
        mode = blacklist.mode(url)
        if mode is BlacklistMode.DROP:
            continue
        if mode is BlacklistMode.EXTRACT_LINKS_ONLY or is_category(url):
            if is_wanted(url, msgspec.structs.replace(options, article_pattern="")):
                chosen.append(Link(url, TargetType.CATEGORY))
        elif is_wanted(url, options):
            chosen.append(Link(url, TargetType.ARTICLE))
    return chosen


def choose_entries(
    entries: Sequence[Link],
    options: RuleOptions,
    *,
    blacklist: Blacklist,
    oldest_ms: int,
    this_year: int,
    max_length: int,
    limit: int,
) -> list[Link]:
    """The entries of a feed or sitemap that become jobs, in their order; dated ones older than `oldest_ms` don't."""
    chosen: list[Link] = []
    for link in entries:
        if len(chosen) >= limit:
            break
        if 0 < link.published_ms < oldest_ms or is_trap(link.url, this_year=this_year, max_length=max_length):
            continue
        mode = blacklist.mode(link.url)
        if mode is BlacklistMode.DROP:
            continue
        if link.target_type is TargetType.SITEMAP:
            chosen.append(link)
        elif is_wanted(link.url, options):
            is_section = mode is BlacklistMode.EXTRACT_LINKS_ONLY
            chosen.append(Link(link.url, TargetType.CATEGORY, link.published_ms) if is_section else link)
    return chosen
