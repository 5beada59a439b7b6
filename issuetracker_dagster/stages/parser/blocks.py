"""The body that the extractor cut out of a page, as a list of blocks that still know what in them was a link.

Only the walk is here; which blocks are the article is `boilerplate`'s question.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Literal

import msgspec
from lxml import etree

Kind = Literal["paragraph", "heading", "item", "quote", "row", "code"]

_KINDS: dict[str, Kind] = {
    "p": "paragraph", "head": "heading", "item": "item", "quote": "quote", "row": "row", "code": "code",
}  # fmt: skip
_CONTAINERS = frozenset({"body", "div", "list", "table", "ab"})
_CELL_BORDER = " | "
_SENTENCE_ENDS = ".!?…。！？।؟۔։።"
_CLOSING = "\"'”’»«“)]）」』】 "
_FEWEST_BUNCHED = 3


class Block(msgspec.Struct, frozen=True):
    """A paragraph, heading, list item, quote, table row or code; `linked` of its characters are in `links` links."""

    kind: Kind
    text: str
    linked: int = 0
    links: int = 0

    @property
    def link_share(self) -> float:
        return self.linked / max(1, len(self.text))

    @property
    def ends_a_sentence(self) -> bool:
        return self.text.rstrip(_CLOSING).endswith(tuple(_SENTENCE_ENDS))


class _Run(msgspec.Struct):
    """A piece of inline text; `link` numbers the link that it is in, 0 for none."""

    text: str
    link: int = 0


def read_blocks(body: "etree._Element") -> list[Block]:
    """Blocks of trafilatura's result tree (made with `include_links`), in page order; text is one line each."""
    walk = _Walk()
    walk.enter(body, "paragraph")
    return walk.blocks


def text_of(blocks: Iterable[Block]) -> str:
    """One line a block; list items with a dash before them."""
    return "\n".join(f"- {block.text}" if block.kind == "item" else block.text for block in blocks)


def length_of(blocks: Iterable[Block]) -> int:
    """Characters of text in them."""
    return sum(len(block.text) for block in blocks)


class _Walk:
    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._runs: list[_Run] = []
        self._link = 0
        self._links_seen = 0

    def enter(self, element: "etree._Element", kind: Kind) -> None:
        """Recursion is as deep as trafilatura's tree, which it flattens."""
        tag = element.tag
        if not isinstance(tag, str):
            return
        inner = kind if tag in _CONTAINERS else _KINDS.get(tag, kind)
        # Paragraphs inside an item or quote belong to it.
        inner = kind if tag == "p" and kind in ("item", "quote", "row") else inner
        is_block = tag in _CONTAINERS or tag in _KINDS
        if is_block and kind != "row":
            self._emit(kind)
        outer_link = self._link
        if tag == "ref":
            self._links_seen += 1
            self._link = self._links_seen
        self._say(element.text)
        for child in element:
            if child.tag == "lb" and kind != "row":
                self._emit(inner)
            else:
                self.enter(child, inner)
            self._say(child.tail)
        self._link = outer_link
        if tag == "cell":
            self._say(_CELL_BORDER)
        if is_block and kind != "row":
            self._emit(inner)

    def _say(self, text: str | None) -> None:
        if text:
            self._runs.append(_Run(text, self._link))

    def _emit(self, kind: Kind) -> None:
        runs, self._runs = list(_unbunched(self._runs)) if kind != "row" else self._runs, []
        text = " ".join("".join(run.text for run in runs).split())
        if kind == "row":
            text = text.strip(_CELL_BORDER)
        if text:
            linked = sum(len(run.text.strip()) for run in runs if run.link)
            self.blocks.append(Block(kind, text, min(linked, len(text)), len({run.link for run in runs} - {0})))


def _unbunched(runs: list[_Run]) -> Iterator[_Run]:
    """Of three or more links with nothing between them the first: the others are in a box that opens on hover.

    A block of nothing but links stays whole for others to judge.
    """
    if not any(run.text.strip() and not run.link for run in runs):
        yield from runs
        return
    for in_links, group in groupby(runs, key=lambda run: bool(run.link) or not run.text.strip()):
        bunch = list(group)
        links = list(dict.fromkeys(run.link for run in bunch if run.link))
        if in_links and len(links) >= _FEWEST_BUNCHED:
            yield from (run for run in bunch if run.link in (0, links[0]))
        else:
            yield from bunch
