"""Entries of RSS, Atom, RDF and JSON feeds, newest first."""

import io
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo

import fastfeedparser
import feedparser
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.urls import BadUrl, host_of, spelled
from issuetracker_dagster.stages.parser.announced import announced_feeds
from issuetracker_dagster.stages.parser.charset import decode_page
from issuetracker_dagster.stages.parser.dates import parse_date, zone_of
from issuetracker_dagster.stages.parser.links import Link
from issuetracker_dagster.stages.parser.recency import newest_first

logger = logging.getLogger(__name__)

_LOCAL = re.compile(r"^.*[}:]")
_DATES = ("pubDate", "published", "date", "issued", "created", "updated", "modified", "lastBuildDate")
_HEAD = 100_000
_LONGEST_SAID = 200

Entry = Mapping[str, object]


def read_feed(body: bytes, content_type: str, url: str, fetched_ms: int = 0) -> list[Link]:
    """Links of the feed's entries, newest first, undated ones last in feed order.

    An entry without a usable address is kept as what it has instead, to say so. Raises `PermanentError` (`not_a_feed`)
    when no reader finds a feed in it; of a page, the reason names the feed that it announces.
    """
    # Both readers guess charsets differently from us; they get UTF-8 that says so.
    text = decode_page(body, content_type).text
    data = declared_utf8(text)
    try:
        entries, language = _entries(data)
    except PermanentError as error:
        raise PermanentError(f"{error}{_announced(text, url)}", code="not_a_feed") from error
    zone = zone_of(host_of(url), language)
    written = _written_dates(data, zone, fetched_ms)
    links: dict[str, Link] = {}
    for entry in entries:
        target = _target(entry, url)
        if not target:
            written_as = _text(entry.get("link")) or _text(entry.get("title")) or "an entry without a link"
            links.setdefault(written_as, Link(written_as[:_LONGEST_SAID], is_url=False))
        if not target or target in links:
            continue
        published = written.get(_text(entry.get("link"))) or parse_date(_date(entry), zone, fetched_ms)
        links[target] = Link(target, published_ms=published)
    return newest_first(links.values(), fetched_ms)


def _announced(text: str, url: str) -> str:
    head = text[:_HEAD]
    feeds = announced_feeds(LexborHTMLParser(head), url, of_article=False) if "<link" in head.lower() else []
    return f"; the page announces {feeds[0]}" if feeds else ""


def _entries(data: bytes) -> tuple[list[Entry], str]:
    try:
        # Bytes only: a str that looks like a URL would be fetched.
        feed = fastfeedparser.parse(data, include_content=False, include_media=False, include_tags=False)
        if feed["entries"]:
            return list(feed["entries"]), _text(feed["feed"].get("language"))
    except MemoryError:
        raise
    except Exception as error:
        # It raises whatever a broken feed leads it to; the slow reader forgives more.
        logger.debug("the fast feed reader gave up: %s", error, exc_info=True)
    try:
        slow = feedparser.parse(io.BytesIO(data), sanitize_html=False, resolve_relative_uris=False)
    except MemoryError:
        raise
    except Exception as error:
        # The same of the last reader: then nobody can read it.
        logger.info("no feed reader can read a feed", exc_info=True)
        raise PermanentError(f"no reader can read the feed: {error}", code="not_a_feed") from error
    if not slow.entries and not slow.get("version"):
        raise PermanentError("no feed in what was fetched as one", code="not_a_feed")
    return list(slow.entries), _text(slow.feed.get("language"))


def declared_utf8(text: str) -> bytes:
    """The bytes of XML that says it is UTF-8, whatever it said before."""
    start = text.find("<?xml")
    if 0 <= start < 200 and (end := text.find("?>", start, start + 300)) > 0:
        text = '<?xml version="1.0" encoding="utf-8"?>' + text[end + 2 :]
    return text.lstrip("\ufeff \t\r\n").encode("utf-8", "replace")


def _written_dates(data: bytes, zone: tzinfo, fetched_ms: int) -> dict[str, int]:
    """Link as written -> date, from the dates as written: the readers take a missing zone and `UTC+9` for UTC."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, collect_ids=False)
    try:
        root = etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError):
        return {}
    if root is None:
        return {}
    found: dict[str, int] = {}
    for node in root.iter("{*}item", "{*}entry"):
        # Broken feeds use prefixes that they don't declare; the parser then leaves `dc:date` as the whole name.
        by_name = {_LOCAL.sub("", child.tag): child for child in reversed(node) if isinstance(child.tag, str)}
        date = next((by_name[name].text for name in _DATES if name in by_name and by_name[name].text), "")
        published = parse_date(date, zone, fetched_ms) if date else 0
        if published:
            found.update((link, published) for link in _written_links(node))
    return found


def _written_links(node: "etree._Element") -> Iterator[str]:
    for child in node.iter("{*}link", "{*}guid", "{*}id"):
        if link := (child.get("href") or child.text or "").strip():
            yield link


def _target(entry: Entry, url: str) -> str:
    for name in ("feedburner_origlink", "link", "id"):
        value = _text(entry.get(name))
        if value and (name != "id" or value.startswith(("http://", "https://"))):
            try:
                return spelled(value, url)
            except BadUrl:
                continue
    return ""


def _date(entry: Entry) -> str:
    return next((text for name in ("published", "updated", "created") if (text := _text(entry.get(name)))), "")


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
