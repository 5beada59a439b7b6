"""What travels to an extraction process and back; runs there, knows no store and no queue."""

import msgspec
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.stages.parser.announced import announced_feeds
from issuetracker_dagster.stages.parser.article import Article, read_article
from issuetracker_dagster.stages.parser.charset import DecodedText, decode_page
from issuetracker_dagster.stages.parser.feeds import read_feed
from issuetracker_dagster.stages.parser.index_page import is_index_page
from issuetracker_dagster.stages.parser.links import Link, discover
from issuetracker_dagster.stages.parser.nesting import is_too_deep
from issuetracker_dagster.stages.parser.sitemaps import read_sitemap

_BINARY = ("image/", "video/", "audio/", "font/", "application/pdf", "application/zip", "application/octet-stream")
_MAGIC = (b"%PDF-", b"PK\x03\x04", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"RIFF", b"\x7fELF", b"\x1f\x8b")
_CONTROLS = {code: None for code in range(32) if code not in (9, 10, 12, 13, 27)}
_MOST_CONTROLS = 0.02
_MOST_REPLACED = 0.3


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A page to read. `url` is normalised."""

    body: bytes
    content_type: str
    url: str
    target_type: TargetType
    fetched_ms: int
    rule: ParserRule | None = None
    min_body_length: int = 200
    max_sitemap_bytes: int = 50 * 1024 * 1024


class PageReading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read. `article` is None unless an article was asked for.

    `urls` are the links of a category or index page in page order; `entries` those of a feed or sitemap, newest first;
    `feeds` are what a page announces.
    `charset` is the codec that decoded a page; feeds and sitemaps are left to their readers.
    """

    article: Article | None = None
    is_index: bool = False
    urls: tuple[str, ...] = ()
    entries: tuple[Link, ...] = ()
    feeds: tuple[str, ...] = ()
    replacement_share: float = 0.0
    charset: str = ""


def read_page(request: PageRequest) -> PageReading:
    """Read a page by its target type.

    Raises `PermanentError`: `empty`, `not_text`, `too_complex`, or what feeds and sitemaps say.
    """
    if not request.body.strip(b" \t\r\n\0"):
        raise PermanentError("the page is empty", code="empty")
    if request.target_type is TargetType.FEED:
        entries = read_feed(request.body, request.content_type, request.url, request.fetched_ms)
        return PageReading(entries=tuple(entries))
    if request.target_type is TargetType.SITEMAP:
        most_bytes, fetched_ms = request.max_sitemap_bytes, request.fetched_ms
        entries = read_sitemap(request.body, request.content_type, request.url, most_bytes, fetched_ms)
        return PageReading(entries=tuple(entries))
    _refuse_binary(request)
    decoded = decode_page(request.body, request.content_type)
    if decoded.replacement_share > _MOST_REPLACED or _controls(decoded.text) > _MOST_CONTROLS:
        raise PermanentError("the page isn't text in any charset", code="not_text")
    if is_too_deep(decoded.text):
        raise PermanentError("the page nests deeper than anything that is written to be read", code="too_complex")
    page = LexborHTMLParser(decoded.text)
    if request.target_type is TargetType.CATEGORY:
        return PageReading(
            urls=tuple(discover(page, request.url)),
            feeds=tuple(announced_feeds(page, request.url, of_article=False)),
            replacement_share=decoded.replacement_share,
            charset=decoded.charset,
        )
    return _read_article(request, decoded, page)


def _read_article(request: PageRequest, decoded: DecodedText, page: LexborHTMLParser) -> PageReading:
    article = read_article(decoded.text, page, request.url, request.fetched_ms, request.rule)
    # What a rule has read is an article, however short.
    is_index = article.sources.get("body") != "rule" and is_index_page(
        page,
        request.url,
        body_length=len(article.fields.body),
        has_date=article.published_ms > 0,
        min_body_length=request.min_body_length,
    )
    return PageReading(
        article=article,
        is_index=is_index,
        urls=tuple(discover(page, request.url)) if is_index else (),
        feeds=tuple(announced_feeds(page, request.url, of_article=not is_index)),
        replacement_share=decoded.replacement_share,
        charset=decoded.charset,
    )


def _refuse_binary(request: PageRequest) -> None:
    kind = request.content_type.partition(";")[0].strip().lower()
    if kind.startswith(_BINARY) or request.body.startswith(_MAGIC):
        raise PermanentError(f"not a page but {kind or 'binary data'}", code="not_text")


def _controls(text: str) -> float:
    sample = text[:20_000]
    return 1 - len(sample.translate(_CONTROLS)) / max(1, len(sample))
