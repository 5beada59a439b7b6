"""Metadata that a page spells out for machines: schema.org JSON-LD."""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.stages.parser.fields import Fields, line_of, people, title_line, unique

_ARTICLE_TYPES = re.compile(
    r"Article$|^BlogPosting$|^Report|^LiveBlogPosting$|^NewsReport$|^DiscussionForumPosting$|^Review$"
)
_WRAPPING = re.compile(
    r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/)|(?:-->|(?://\s*)?\]\]>)\s*;?\s*$"
)
_TRAILING_COMMA = re.compile(r",\s*([}\]])")
_MOST_NODES = 5_000
_LONGEST_SCRIPT = 2_000_000

Json = dict[str, object]


def read_nodes(page: LexborHTMLParser) -> list[Json]:
    """Everything that a page says of itself in JSON-LD, a node each, in page order."""
    nodes: list[Json] = []
    for script in page.css('script[type*="ld+json"]'):
        nodes.extend(_nodes(_loaded(script.text() or "")))
        if len(nodes) > _MOST_NODES:
            break
    return nodes


def articles(nodes: Sequence[Json]) -> list[Json]:
    """The articles among a page's nodes, fullest first; `@id` references to authors resolved."""
    by_id = {node["@id"]: node for node in nodes if isinstance(node.get("@id"), str) and len(node) > 1}
    found = [_resolved(node, by_id) for node in nodes if _is_article(node)]
    return sorted(found, key=lambda node: -sum(bool(node.get(name)) for name in _WEIGHED))


_WEIGHED = ("headline", "datePublished", "author", "articleBody", "image")


def read_json_ld(nodes: Sequence[Json]) -> tuple[Fields, tuple[str, ...]]:
    """Fields of the page's main article, and the names of its publisher (they tell a title's suffix)."""
    found = articles(nodes)
    if not found:
        return Fields(), ()
    node = found[0]
    fields = Fields(
        title=title_line(node.get("headline") or node.get("name")),
        author=people(_names(node.get("author") or node.get("creator"))),
        category=next(iter(_texts(node.get("articleSection"))), ""),
        tags=unique(_keywords(node.get("keywords"))),
        images=unique(urls_of(node.get("image") or node.get("thumbnailUrl")), 10),
        summary=line_of(node.get("description")),
        published=line_of(node.get("datePublished") or node.get("dateCreated"), 100),
        body=_body(node.get("articleBody")),
    )
    return fields, unique(_names(node.get("publisher")))


def _loaded(text: str) -> object:
    if len(text) > _LONGEST_SCRIPT:
        return None
    bare = _WRAPPING.sub("", _WRAPPING.sub("", text)).strip()
    for candidate in (bare, _TRAILING_COMMA.sub(r"\1", bare)):
        try:
            # Not strict: line breaks inside strings are the commonest fault of hand-made JSON-LD.
            return json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
    return None


def _nodes(value: object) -> Iterator[Json]:
    waiting = deque([value])
    seen = 0
    while waiting and seen < _MOST_NODES:
        current = waiting.popleft()
        seen += 1
        if isinstance(current, list):
            waiting.extend(current)
        elif isinstance(current, dict):
            yield current
            waiting.extend(
                current[name] for name in ("@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "author")
                if isinstance(current.get(name), dict | list)
            )  # fmt: skip


def _is_article(node: Json) -> bool:
    return any(_ARTICLE_TYPES.search(kind) for kind in types_of(node))


def types_of(node: Json) -> set[str]:
    """The names of a node's types, without `https://schema.org/`."""
    return {kind.rsplit("/", 1)[-1] for kind in _texts(node.get("@type"))}


def parts_of(node: Json) -> list[Json]:
    """What a node has for its parts."""
    value = node.get("hasPart")
    return [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, dict)]


def _resolved(node: Json, by_id: dict[object, Json]) -> Json:
    resolved = dict(node)
    for name in ("author", "creator", "publisher"):
        value = node.get(name)
        if not value:
            continue
        items = value if isinstance(value, list) else [value]
        resolved[name] = [
            by_id.get(item.get("@id"), item) if isinstance(item, dict) and "name" not in item else item
            for item in items
        ]
    return resolved


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [line_of(item) for item in items if isinstance(item, str) and item.strip()]


def _names(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    names: list[str] = []
    for item in items:
        if isinstance(item, dict):
            names.extend(_texts(item.get("name")))
        elif isinstance(item, list):
            names.extend(_names(item))
        elif isinstance(item, str):
            names.append(item)
    return names


def _keywords(value: object) -> list[str]:
    words = _texts(value)
    return [word.strip() for text in words for word in (text.split(",") if "," in text else [text]) if word.strip()]


def urls_of(value: object) -> list[str]:
    """URLs of images, given as such or in objects."""
    items = value if isinstance(value, list) else [value]
    urls = [item.get("url") or item.get("contentUrl") if isinstance(item, dict) else item for item in items]
    return [url for each in urls for url in (each if isinstance(each, list) else [each]) if isinstance(url, str)]


def _body(value: object) -> str:
    return value if isinstance(value, str) else "\n\n".join(_texts(value)) if isinstance(value, list) else ""
