"""Sitemaps: XML in any namespace, indices, news fields, plain text, gzip; and feeds that serve as sitemaps."""

import io
import re
import zlib
from datetime import UTC

from lxml import etree

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.urls import BadUrl, spelled
from issuetracker_dagster.stages.parser.charset import decode_page
from issuetracker_dagster.stages.parser.dates import parse_date
from issuetracker_dagster.stages.parser.feeds import declared_utf8, read_feed
from issuetracker_dagster.stages.parser.links import Link
from issuetracker_dagster.stages.parser.recency import newest_first

_ROOT_CLOSED = re.compile(rb"(?:urlset|sitemapindex|rss|feed|RDF)\s*>\s*\Z")
_ENTRY_CLOSED = re.compile(rb"</(?:\w{1,20}:)?(?:url|sitemap)\s*>")
_GZIP = b"\x1f\x8b"
_MOST_URLS = 100_000
_LONGEST_SAID = 200
_FEEDS = ("rss", "feed", "rdf")


def read_sitemap(body: bytes, content_type: str, url: str, max_bytes: int, fetched_ms: int = 0) -> list[Link]:
    """Links of a sitemap, newest first; those of an index are sitemaps themselves.

    A file that breaks off gives what it held so far. Raises `PermanentError`: `too_large` when it unpacks to more than
    `max_bytes`, `not_a_sitemap` when it holds no URL and isn't one.
    """
    data = _without_nuls(unpacked(body, max_bytes), content_type)
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return newest_first(_plain(decode_page(data, content_type).text, url), fetched_ms)
    root, links = _xml(data, url)
    if root.lower() in _FEEDS:
        return read_feed(data, content_type, url, fetched_ms)
    if not links and root not in ("urlset", "sitemapindex"):
        raise PermanentError(f"no sitemap in what was fetched as one (root {root[:40]!r})", code="not_a_sitemap")
    return newest_first(links, fetched_ms)


def _without_nuls(data: bytes, content_type: str) -> bytes:
    """UTF-8 of what holds NULs: they end the file for the XML reader, be they UTF-16's or strewn in."""
    return declared_utf8(decode_page(data, content_type).text) if b"\0" in data else data


def unpacked(body: bytes, max_bytes: int) -> bytes:
    """The bytes, gunzipped when they open with gzip's magic, twice if need be; raises `PermanentError` past the cap."""
    for _ in range(2):
        if not body.startswith(_GZIP):
            break
        body = _gunzip(body, max_bytes)
    if len(body) > max_bytes:
        raise PermanentError(f"a sitemap of more than {max_bytes} bytes", code="too_large")
    return body


def _gunzip(body: bytes, max_bytes: int) -> bytes:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        plain = inflater.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise PermanentError(f"a gzip file that doesn't unpack: {error}", code="bad_gzip") from None
    return plain


def _xml(data: bytes, url: str) -> tuple[str, list[Link]]:
    links: dict[str, Link] = {}
    data = _whole_entries(data)
    root = ""
    fields: dict[str, str] = {}
    events = etree.iterparse(
        io.BytesIO(data),
        events=("start", "end"),
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        collect_ids=False,
    )
    try:
        for kind, node in events:
            name = _name(node)
            if kind == "start":
                root = root or name
                continue
            if name in _FIELDS and node.text and name not in fields:
                fields[name] = node.text.strip()
            elif name in ("url", "sitemap"):
                # Some indices put the URL into <sitemap> itself, without <loc>.
                located = fields.get("loc") or (node.text or "").strip()
                _add(links, located, fields, url, TargetType.SITEMAP if name == "sitemap" else TargetType.ARTICLE)
                fields = {}
                _forget(node)
            if len(links) >= _MOST_URLS:
                break
    except (etree.LxmlError, ValueError):
        # Cut off or broken in the middle: what came before is still good.
        return root, list(links.values())
    return root, list(links.values())


def _whole_entries(data: bytes) -> bytes:
    """Without an entry that breaks off: the forgiving parser would close it, and half a URL is another URL."""
    if _ROOT_CLOSED.search(data, max(0, len(data) - 200)):
        return data
    end = max((match.end() for match in _ENTRY_CLOSED.finditer(data)), default=len(data))
    return data[:end]


_FIELDS = frozenset({"loc", "lastmod", "publication_date"})
_OTHER_EXTENSIONS = ("image", "video")


def _name(node: "etree._Element") -> str:
    if not isinstance(node.tag, str):
        return ""
    # <image:loc> and <video:...> hang under <url> too; only news is wanted of the extensions.
    space, _, local = node.tag.rpartition("}")
    # A prefix that the file forgot to declare stays in the name.
    prefix, _, bare = local.rpartition(":")
    return "" if any(other in space or other in prefix for other in _OTHER_EXTENSIONS) else bare


def _add(links: dict[str, Link], located: str, fields: dict[str, str], url: str, kind: TargetType) -> None:
    try:
        target = spelled(located, url) if located else ""
    except BadUrl:
        target = ""
    if not target:
        links.setdefault(located, Link(located[:_LONGEST_SAID] or "an entry without an address", kind, is_url=False))
        return
    date = fields.get("publication_date") or fields.get("lastmod") or ""
    if target != url:
        links.setdefault(target, Link(target, kind, parse_date(date, UTC) if date else 0))


def _forget(node: "etree._Element") -> None:
    """Keep memory flat: 50,000 entries are nothing to keep as a tree."""
    node.clear()
    parent: etree._Element | None = node.getparent()
    while parent is not None and node.getprevious() is not None:
        del parent[0]


def _plain(text: str, url: str) -> list[Link]:
    links: dict[str, Link] = {}
    for line in text.splitlines():
        if len(links) >= _MOST_URLS:
            break
        if line.strip().startswith(("http://", "https://")):
            _add(links, line.strip(), {}, url, TargetType.ARTICLE)
    if not links:
        raise PermanentError("no URL in what was fetched as a sitemap", code="not_a_sitemap")
    return list(links.values())
