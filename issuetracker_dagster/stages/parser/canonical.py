"""Whether the canonical URL that a page names is believed."""

import re
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.urls import BadUrl, host_of, parse_http, spelled
from issuetracker_dagster.stages.domains import registrable_domain

_HOME = re.compile(r"/?(?:[a-z]{2}(?:-[a-z]{2})?/?)?(?:(?:index|main|home|default)\.\w{2,5})?", re.IGNORECASE)
_IDENTITY = re.compile(
    r"(?:id|no|num|seq|idx|key|code|srl|article|news|story|doc|post|thread|page|wr|sn|p|t|aid|oid)$", re.IGNORECASE
)

_LONGEST = 2_000
"""The URL travels in messages, which have a bound; no page is known by a longer one."""


def named_canonical(page: LexborHTMLParser, base: str) -> str:
    """The URL in `<link rel=canonical>`, else `og:url`; spelled, empty when there is none."""
    for selector, attribute in (('link[rel~="canonical"]', "href"), ('meta[property="og:url"]', "content")):
        for node in page.css(selector)[:3]:
            value = (node.attributes.get(attribute) or "").strip()
            try:
                if 0 < len(value) <= _LONGEST:
                    return spelled(value, base)
            except BadUrl:
                continue
    return ""


def believed_canonical(named: str, url: str, requested_url: str) -> str:
    """`named` when it can be the name of the page at `url`, else an empty string.

    Refused: another registrable domain; a home page, shared by many; the same path without the parameter that tells
    pages apart; an address that redirects here, since that would be a loop.
    """
    if not named or named == url:
        return named
    if registrable_domain(host_of(named)) != registrable_domain(host_of(url)):
        return ""
    target, own = parse_http(named), parse_http(url)
    if _HOME.fullmatch(unquote(target.pathname)) and not target.search and not _is_home(url):
        return ""
    if target.pathname == own.pathname and _identity(own.search) - _identity(target.search):
        return ""
    return "" if named == requested_url else named


def _is_home(url: str) -> bool:
    parsed = parse_http(url)
    return _HOME.fullmatch(unquote(parsed.pathname)) is not None and not parsed.search


def _identity(search: str) -> set[str]:
    """The `name=value` pairs of a query whose names look like those of an article's number."""
    pairs = [pair for pair in search.lstrip("?").split("&") if pair]
    return {pair for pair in pairs if _IDENTITY.search(pair.partition("=")[0])}
