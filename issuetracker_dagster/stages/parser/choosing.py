"""Which links of a page become crawl jobs, and why the others don't."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistMode
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.stages.parser.blacklist import Blacklist
from issuetracker_dagster.stages.parser.links import Link, is_no_page, is_trap, same_host_first
from issuetracker_dagster.stages.parser.patterns import found_in, path_and_query
from issuetracker_dagster.stages.parser.selection import RuleOptions


class LinkVerdict(StrEnum):
    """What becomes of a link."""

    WANTED = "wanted"
    OTHER_HOST = "other_host"
    TRAP = "trap"
    BLACKLISTED = "blacklisted"
    OLD = "old"
    NO_URL = "no_url"
    NO_PAGE = "no_page"
    EXCLUDED = "excluded"
    NO_ARTICLE = "no_article"


class JudgedLink(msgspec.Struct, frozen=True):
    """A link as it would be crawled, and whether it is."""

    link: Link
    verdict: LinkVerdict


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where traps begin: URLs longer than `max_length` characters, calendars beyond next year."""

    this_year: int
    max_length: int

    def trap(self, url: str) -> bool:
        """Whether following such links never ends."""
        return is_trap(url, this_year=self.this_year, max_length=self.max_length)


def by_rule(url: str, options: RuleOptions) -> LinkVerdict:
    """What excludes and article pattern of the rule say; files that are no pages never pass."""
    target = path_and_query(url)
    if is_no_page(target):
        return LinkVerdict.NO_PAGE
    if any(found_in(exclude, target) for exclude in options.exclude_patterns):
        return LinkVerdict.EXCLUDED
    return LinkVerdict.WANTED if found_in(options.article_pattern, target) else LinkVerdict.NO_ARTICLE


def judge_links(
    urls: Sequence[str],
    host: str,
    options: RuleOptions,
    *,
    blacklist: Blacklist,
    is_category: Callable[[str], bool],
    limits: Limits,
) -> Iterator[JudgedLink]:
    """The links of a category page, the host's own first; judged one by one, as they are asked for.

    A link to another category passes the article pattern by, or paging would end at the first page.
    """
    of_any_article = msgspec.structs.replace(options, article_pattern="")
    for url in same_host_first(urls, host):
        kind, verdict = TargetType.ARTICLE, LinkVerdict.WANTED
        if options.same_host_only and host_of(url) != host:
            verdict = LinkVerdict.OTHER_HOST
        elif limits.trap(url):
            verdict = LinkVerdict.TRAP
        elif (mode := blacklist.mode(url)) is BlacklistMode.DROP:
            verdict = LinkVerdict.BLACKLISTED
        elif mode is BlacklistMode.EXTRACT_LINKS_ONLY or is_category(url):
            kind, verdict = TargetType.CATEGORY, by_rule(url, of_any_article)
        else:
            verdict = by_rule(url, options)
        yield JudgedLink(Link(url, kind), verdict)


def judge_entries(
    entries: Iterable[Link], options: RuleOptions, *, blacklist: Blacklist, oldest_ms: int, limits: Limits
) -> Iterator[JudgedLink]:
    """The entries of a feed or sitemap in their order; dated ones older than `oldest_ms` aren't wanted."""
    for entry in entries:
        link, verdict = entry, LinkVerdict.WANTED
        if not link.is_url:
            verdict = LinkVerdict.NO_URL
        elif 0 < link.published_ms < oldest_ms:
            verdict = LinkVerdict.OLD
        elif limits.trap(link.url):
            verdict = LinkVerdict.TRAP
        elif (mode := blacklist.mode(link.url)) is BlacklistMode.DROP:
            verdict = LinkVerdict.BLACKLISTED
        elif link.target_type is not TargetType.SITEMAP:
            verdict = by_rule(link.url, options)
            if mode is BlacklistMode.EXTRACT_LINKS_ONLY:
                link = Link(link.url, TargetType.CATEGORY, link.published_ms)
        yield JudgedLink(link, verdict)


def wanted(judged: Iterable[JudgedLink], limit: int) -> list[Link]:
    """The first `limit` links that are wanted; nothing after them is judged."""
    found: list[Link] = []
    for one in judged:
        if one.verdict is LinkVerdict.WANTED:
            found.append(one.link)
            if len(found) >= limit:
                break
    return found
