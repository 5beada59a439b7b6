"""The parser and its peers. Peers get the text that the parser's charset detection gives: none is judged by that."""

import importlib.util
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from lxml import etree
from lxml import html as lxml_html
from trafilatura import bare_extraction

from benchmarks.quality.recorded import Page
from benchmarks.quality.scoring import Reading
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.stages.parser.charset import decode_page
from issuetracker_dagster.stages.parser.reading import PageRequest, read_page

Reader = Callable[[Page, str], Reading]
"""From a page and its decoded text to what was found."""

FETCHED_MS = 1_796_040_000_000
"""2026-11-30 12:00 UTC: after every recorded page."""


def text_of_page(page: Page) -> str:
    """The page's text without an XML declaration, which lxml refuses in text."""
    text = decode_page(page.data, "text/html").text
    return text.partition("?>")[2] if text.lstrip().startswith("<?xml") else text


def parser(page: Page, _: str) -> Reading:
    """The whole of what a stage does with a page: charset, fields, date, language, body, index page or not."""
    read = read_page(
        PageRequest(
            body=page.data,
            content_type="text/html",
            url=page.gold.url,
            target_type=TargetType.ARTICLE,
            fetched_ms=FETCHED_MS,
        )
    )
    article = read.article
    assert article is not None
    return Reading(
        body=article.fields.body,
        title=article.fields.title,
        authors=tuple(name for name in article.fields.author.split(", ") if name),
        published_ms=article.published_ms,
    )


def trafilatura(*, precision: bool = False, recall: bool = False) -> Reader:
    """trafilatura in one of its modes, metadata included."""

    def read(page: Page, text: str) -> Reading:
        found: Any = bare_extraction(
            text, url=page.gold.url, with_metadata=True, favor_precision=precision, favor_recall=recall
        )
        if found is None:
            return Reading()
        authors = tuple(name.strip() for name in (found.author or "").split(";") if name.strip())
        return Reading(body=found.text or "", title=found.title or "", authors=authors, day=found.date or "")

    return read


def machine_readable(_: Page, text: str) -> Reading:
    """What a page tells machines and no more: JSON-LD, then OpenGraph, as a reader of a hundred lines would."""
    try:
        tree = lxml_html.document_fromstring(text)
    except etree.LxmlError:
        return Reading()
    node = next(_articles(tree), {})
    meta = {
        (each.get("property") or each.get("name") or "").lower(): each.get("content") or ""
        for each in reversed(tree.xpath("//meta[@content]"))
    }
    date = str(node.get("datePublished") or meta.get("article:published_time") or "")
    authors = node.get("author") or meta.get("author") or ()
    named = authors if isinstance(authors, list) else [authors]
    names = (each.get("name") if isinstance(each, dict) else each for each in named)
    return Reading(
        body=str(node.get("articleBody") or ""),
        title=str(node.get("headline") or meta.get("og:title") or "").strip(),
        authors=tuple(str(name).strip() for name in names if name),
        published_ms=_instant_ms(date),
        day=date[:10],
    )


def _instant_ms(written: str) -> int:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return 0
    return int(moment.timestamp() * 1000) if moment.tzinfo else 0


def _articles(tree: "etree._Element") -> Iterator[dict[str, Any]]:
    for script in tree.xpath("//script[contains(@type, 'ld+json')]"):
        try:
            loaded = json.loads(script.text or "", strict=False)
        except ValueError:
            continue
        for value in loaded if isinstance(loaded, list) else [loaded]:
            graph = value.get("@graph", [value]) if isinstance(value, dict) else []
            yield from (node for node in graph if isinstance(node, dict) and "Article" in str(node.get("@type")))


def readability(_: Page, text: str) -> Reading:
    """readability-lxml, where it is installed."""
    from readability import Document  # type: ignore[import-not-found]

    document = Document(text)
    return Reading(body=lxml_html.fromstring(document.summary()).text_content(), title=document.title())


def newspaper(page: Page, text: str) -> Reading:
    """newspaper4k, where it is installed."""
    from newspaper import Article  # type: ignore[import-not-found]

    article = Article(page.gold.url)
    article.download(input_html=text)
    article.parse()
    day = article.publish_date.date().isoformat() if article.publish_date else ""
    return Reading(body=article.text, title=article.title, authors=tuple(article.authors), day=day)


def peers() -> dict[str, Reader]:
    """Every peer that can run here, by name; the first is the one whose CPU time is the measure."""
    found: dict[str, Reader] = {
        "trafilatura": trafilatura(),
        "trafilatura precision": trafilatura(precision=True),
        "trafilatura recall": trafilatura(recall=True),
        "JSON-LD + OpenGraph": machine_readable,
    }
    for module, name, reader in (("readability", "readability", readability), ("newspaper", "newspaper", newspaper)):
        if importlib.util.find_spec(module):
            found[name] = reader
    return found
