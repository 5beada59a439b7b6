"""An article from all its sources: the rule first, then metadata, body, markup, and guessing last."""

import logging
from datetime import UTC, datetime

import msgspec
from htmldate import find_date
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.marks import GALLERY
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.stages.language import detect_language
from issuetracker_dagster.stages.parser.body import find_body
from issuetracker_dagster.stages.parser.boilerplate import Known, known
from issuetracker_dagster.stages.parser.canonical import named_canonical
from issuetracker_dagster.stages.parser.dates import parse_date, zone_of
from issuetracker_dagster.stages.parser.fields import Fields, lay_over, unique
from issuetracker_dagster.stages.parser.json_ld import read_json_ld, read_nodes
from issuetracker_dagster.stages.parser.links import base_of
from issuetracker_dagster.stages.parser.marks import gallery_images, read_marks
from issuetracker_dagster.stages.parser.meta_tags import (
    ANALYTICS_TITLES,
    MetaTags,
    headings,
    read_markup,
    read_open_graph,
    window_title,
)
from issuetracker_dagster.stages.parser.selection import absolute, apply_rule, options_of
from issuetracker_dagster.stages.parser.titles import Titles, choose_title

logger = logging.getLogger(__name__)

_MOST_IMAGES = 20


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `published_ms` is 0 when the page names no date; `sources` says what produced each field.

    `sources` also holds the page's marks (`marks`), with what said each, and in `sources["rule"]` `used:<id>` or
    `missed:<id>` when a rule was asked.
    """

    fields: Fields
    published_ms: int = 0
    language: str = ""
    canonical: str = ""
    sources: dict[str, str] = {}


def read_article(text: str, page: LexborHTMLParser, url: str, fetched_ms: int, rule: ParserRule | None) -> Article:
    """The article of a decoded page; fields may be empty, whether that is enough is the handler's question."""
    base = base_of(page, url)
    nodes = read_nodes(page)
    linked, publishers = read_json_ld(nodes)
    meta = MetaTags(page)
    graph, markup = read_open_graph(meta), read_markup(page)
    ruled = apply_rule(page, rule) if rule and rule.selectors else None
    titles = Titles(
        shared=graph.title,
        headline=linked.title,
        tracked=meta.title(*ANALYTICS_TITLES),
        window=window_title(page),
        visible=markup.title,
        headings=headings(page),
        sites=(meta.first("og:site_name", "application-name"), *publishers, _label(url)),
    )
    sources = [("json_ld", _without(linked)), ("opengraph", _without(graph)), ("markup", _without(markup))]
    fields, origins = lay_over([("rule", ruled or Fields()), choose_title(titles), *sources])
    if not fields.body:
        body, origin = find_body(text, page, linked.body, _known(page, (linked, graph, markup)))
        fields = msgspec.structs.replace(fields, body=body)
        origins |= {"body": origin} if body else {}
    if rule and rule.selectors:
        origins["rule"] = f"{'used' if ruled else 'missed'}:{rule.rule_id}"
    language = detect_language(f"{fields.title}\n{fields.body}")
    published, origin = _published(
        [("rule", ruled), ("json_ld", linked), ("opengraph", graph), ("markup", markup)],
        text, url, fetched_ms, language, options_of(rule).timezone,
    )  # fmt: skip
    origins.pop("published", None)
    marks = read_marks(page, nodes, meta, url)
    shown = gallery_images(page, nodes) if GALLERY in marks else ()
    images = unique((absolute(image, base) for image in (*fields.images, *shown)), _MOST_IMAGES)
    if images:
        origins.setdefault("images", "markup")
    if published:
        origins["published_at"] = origin
    return Article(
        fields=msgspec.structs.replace(fields, images=images),
        published_ms=published,
        language=language,
        canonical=named_canonical(page, base),
        sources=origins | marks,
    )


def _known(page: LexborHTMLParser, sources: tuple[Fields, ...]) -> Known:
    """The title in every form that the page gives it, and everybody whom a source names as its author."""
    headings = [node.text(separator=" ") for node in page.css("h1, title")[:6]]
    titles = [*(fields.title for fields in sources), *headings]
    return known(titles, [name for fields in sources for name in fields.author.split(", ")])


def _without(fields: Fields) -> Fields:
    """Titles and bodies are chosen among the sources, not taken from the first that has one."""
    return msgspec.structs.replace(fields, title="", body="")


def _label(url: str) -> str:
    host = host_of(url)
    return host.removeprefix("www.")


def _published(
    sources: list[tuple[str, Fields | None]], text: str, url: str, fetched_ms: int, language: str, timezone: str
) -> tuple[int, str]:
    zone = zone_of(host_of(url), language, timezone)
    for origin, fields in sources:
        if fields and fields.published and (found := parse_date(fields.published, zone, fetched_ms)):
            return found, origin
    guessed = _guessed_date(text, url, fetched_ms)
    return (parse_date(guessed, zone), "htmldate") if guessed else (0, "")


def _guessed_date(text: str, url: str, fetched_ms: int) -> str:
    """A day from the URL or the markup. Extensive search is off: it makes 1 January of `Copyright 1998-2026`."""
    latest = datetime.fromtimestamp(fetched_ms / 1000, UTC) if fetched_ms else datetime.now(UTC)
    try:
        found = find_date(
            text, extensive_search=False, original_date=True, url=url, max_date=latest.strftime("%Y-%m-%d")
        )
    except MemoryError:
        raise
    except Exception:
        # Whatever the library trips over on broken markup: a guess isn't worth the article.
        logger.warning("the date guesser gave up on a page", exc_info=True)
        return ""
    return found or ""
