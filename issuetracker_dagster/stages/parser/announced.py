"""Feeds that a page announces: found here, offered to the operators by `offers`."""

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.urls import BadUrl, parse_http, spelled
from issuetracker_dagster.stages.parser.links import base_of

# `application/json` isn't among them: publishing systems announce their interfaces under it.
_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"})
_COMMENTS = frozenset({"comments", "kommentare", "commentaires", "comentarios"})
_MOST = 20


def announced_feeds(page: LexborHTMLParser, url: str, *, of_article: bool) -> list[str]:
    """Spelled URLs of the page's feeds in page order, at most 20.

    Feeds of comments are left out, and those below the address of an article, which can be nothing else.
    """
    base = base_of(page, url)
    own = parse_http(url).pathname.rstrip("/") + "/"
    found: dict[str, None] = {}
    for node in page.css('link[rel~="alternate" i][href]'):
        kind = (node.attributes.get("type") or "").partition(";")[0].strip().lower()
        if kind not in _TYPES:
            continue
        try:
            feed = spelled((node.attributes.get("href") or "").strip(), base)
        except BadUrl:
            continue
        path = parse_http(feed).pathname
        is_below = of_article and own != "/" and path.startswith(own)
        if feed != url and not is_below and not _COMMENTS.intersection(path.lower().split("/")):
            found[feed] = None
        if len(found) >= _MOST:
            break
    return list(found)
