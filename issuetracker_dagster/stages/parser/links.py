"""Links of a page, and those that lead nowhere: `choosing` judges which are worth a crawl job."""

import re
from collections.abc import Iterator, Sequence

import msgspec
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.urls import BadUrl, host_of, parse_http, spelled
from issuetracker_dagster.stages.parser.patterns import path_and_query

_YEAR = re.compile(r"/(\d{4})/(\d{1,2})(?=/|$)")
_YEAR_IN_QUERY = re.compile(r"[?&](?:year|yyyy|y)=(\d{4})(?!\d)", re.IGNORECASE)
_FIRST_YEAR = 1990
_REPEATS = 3
_DEEPEST_PATH = 20
_MOST_CANDIDATES = 5_000
_LONGEST_BASE = 2_000
"""Every link of the page is joined to it."""
_NO_PAGE = re.compile(
    r"\.(?:jpe?g|png|gif|webp|svg|ico|css|js|mp[34]|avi|mov|wmv|zip|gz|7z|rar|exe|dmg|apk|pdf|docx?|xlsx?|pptx?|hwpx?)$",
    re.IGNORECASE,
)


class Link(msgspec.Struct, frozen=True):
    """A link to crawl; `published_ms` is 0 unless a feed or sitemap told it.

    Without `is_url` it is what an entry had in the place of one, kept to say why it isn't crawled.
    """

    url: str
    target_type: TargetType = TargetType.ARTICLE
    published_ms: int = 0
    is_url: bool = True


def base_of(page: LexborHTMLParser, url: str) -> str:
    """The URL that relative links hang on: `<base>` when it makes one, else the page's own."""
    node = page.css_first("base[href]")
    href = node.attributes.get("href") if node else None
    try:
        return str(parse_http(href, url).href) if href and len(href) <= _LONGEST_BASE else url
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


def is_no_page(target: str) -> bool:
    """Whether the path of a link (its query may follow) names a file that is no page, such as a picture."""
    return _NO_PAGE.search(target.partition("?")[0]) is not None


def same_host_first(urls: Sequence[str], host: str) -> Iterator[str]:
    """The host's own links, then the others, each in page order."""
    others: list[str] = []
    for url in urls:
        if host_of(url) == host:
            yield url
        else:
            others.append(url)
    yield from others
