"""Fields of an article as one source on the page gave them, and how several sources are laid over each other."""

import html
import re
from collections.abc import Iterable

import msgspec

_TAG = re.compile(r"</?[A-Za-z!][^<>]{0,500}>")
_COLLAPSED = re.compile(r"[^\S\xa0\u202f\u3000]+")
_BY = re.compile(r"^\s*(?:by|von|por|par|di|af|av|door|글|글쓴이|기자)\s*[:.]?\s+", re.IGNORECASE)
_EMAIL = re.compile(r"\(?[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}\)?")
_KOREAN_TITLES = re.compile(r"\s*(?:선임|인턴|전문|수석|객원)?\s*(?:기자|특파원|앵커|논설위원|에디터|PD)\s*$")
_NAMES_APART = re.compile(r"\s*(?:[,;·ㆍ|/\n]|\s(?:and|und)\s)\s*")
_IN_BRACKETS = re.compile(r"\([^()]{0,80}\)?")


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says; empty where it says nothing. `published` is the date as written."""

    title: str = ""
    author: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    summary: str = ""
    published: str = ""
    body: str = ""


def line_of(text: object, limit: int = 1_000) -> str:
    """One line of plain text: entities decoded (twice, as feeds of feeds need it), tags gone, white space collapsed."""
    return " ".join(_plain(text, limit).split())[:limit]


def title_line(text: object, limit: int = 1_000) -> str:
    """The same as browsers show it: no-break and ideographic blanks, which editors set on purpose, stay."""
    return _COLLAPSED.sub(" ", _plain(text, limit)).strip()[:limit]


def _plain(text: object, limit: int) -> str:
    if not isinstance(text, str):
        return ""
    cut = text[: limit * 4]
    if "<" in cut:
        cut = _TAG.sub(" ", cut)
    return html.unescape(html.unescape(cut)) if "&" in cut else cut


def person(text: str) -> str:
    """A name without `By`, e-mail address and title."""
    name = _KOREAN_TITLES.sub("", _BY.sub("", _EMAIL.sub(" ", f"{line_of(text, 200)} ")).strip())
    return name.strip(" ,;|/·-=")


def people(bylines: Iterable[str]) -> str:
    """The names of all bylines joined by `, `, each once, in page order; a URL is nobody's name."""
    named = [_IN_BRACKETS.sub(" ", text) for text in bylines if not _is_url(text)]
    return ", ".join(unique(person(name) for text in named for name in _NAMES_APART.split(text)))


def _is_url(text: str) -> bool:
    return "://" in text or text.strip().startswith(("www.", "@", "/"))


def unique(values: Iterable[str], limit: int = 50) -> tuple[str, ...]:
    """The first `limit` distinct values, in order, without empty ones."""
    return tuple(dict.fromkeys(value for value in values if value))[:limit]


def lay_over(sources: Iterable[tuple[str, Fields]]) -> tuple[Fields, dict[str, str]]:
    """Each field from the first source that has it, and which one that was."""
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, fields in sources:
        for name in Fields.__struct_fields__:
            value = getattr(fields, name)
            if value and name not in values:
                values[name] = value
                origins[name] = origin
    return msgspec.convert(values, Fields), origins
