"""Telling a page of links from an article: what has hardly a body and no date, and leads on."""

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.urls import BadUrl, host_of, parse_http

_MOSTLY = 0.8
_LINKS = 5


def is_index_page(page: LexborHTMLParser, url: str, *, body_length: int, has_date: bool, min_body_length: int) -> bool:
    """Whether the page is an index: short body, no date, >= 80 % of its text in same-host anchors or >= 5 of them."""
    if has_date or body_length >= min_body_length:
        return False
    host = host_of(url)
    anchors = 0
    linked = 0
    for node in page.css("body a[href]"):
        href = node.attributes.get("href") or ""
        text = "".join((node.text() or "").split())
        if text and not href.startswith("#") and _same_host(href, url, host):
            anchors += 1
            linked += len(text)
        if anchors >= _LINKS:
            return True
    total = sum(map(len, _visible(page).split()))
    return anchors > 0 and linked >= _MOSTLY * total


def _same_host(href: str, url: str, host: str) -> bool:
    try:
        return str(parse_http(href, url).hostname) == host
    except BadUrl:
        return False


def _visible(page: LexborHTMLParser) -> str:
    copy = page.clone()
    copy.strip_tags(["script", "style", "noscript", "template"], recursive=True)
    return copy.body.text() if copy.body else ""
