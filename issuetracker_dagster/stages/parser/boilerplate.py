"""Which blocks of an extracted body are the article, and which are the site talking around it. Pure decisions.

Each rule takes the blocks and leaves some out; none looks at the host. A rule that could eat an article when it errs
is bounded: to short blocks, to a few of them, or to a share of the text.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby

import msgspec

from issuetracker_dagster.stages.parser.blocks import Block, length_of
from issuetracker_dagster.stages.parser.phrases import (
    BYLINE,
    CALL,
    ONLY_A_DATE,
    ONLY_A_URL,
    POINTER,
    WHOLE_LABEL,
)

_LINK_PAGE_SHARE = 0.4
_TOP = 4
_EDGE = 3
_FEWEST_LETTERS = 8
_SHORT_TITLE = 20
_LONGEST_LINE = 250
_LONGEST_LABEL = 200
_LONGEST_BYLINE = 120
_LONGEST_CALL = 400
_SHORT = 60
_LONG_AVERAGE = 80
_MOST_SHORT = 4
_FEWEST_LEFT = 3
_TAIL_SHARE = 0.2


class Known(msgspec.Struct, frozen=True):
    """What else is known of the article, as `letters` gives it."""

    titles: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()


Rule = Callable[[Sequence[Block], Known], list[Block]]


def known(titles: Sequence[str], authors: Sequence[str]) -> Known:
    """Titles under which the page goes, and its authors, made comparable."""
    return Known(frozenset(map(letters, titles)) - {""}, frozenset(map(letters, authors)) - {""})


def letters(text: str) -> str:
    """The words of a text, lower-case, one space apart."""
    # Soft hyphens are inside words and not always the same ones.
    return " ".join(re.findall(r"\w+", text.lower().replace("\xad", "")))


def article_blocks(blocks: Sequence[Block], context: Known) -> list[Block]:
    """The blocks that every rule leaves in; all of them when nothing would be left."""
    kept = list(blocks)
    for rule in RULES:
        kept = rule(kept, context)
    return kept or list(blocks)


def without_bare_links(blocks: Sequence[Block], _: Known) -> list[Block]:
    """No lines that are nothing but a link, or lead to another page; unless the page is made of links."""
    if _is_link_page(blocks):
        return list(blocks)
    last = len(blocks) - 1
    return [block for at, block in enumerate(blocks) if not _leads_away(block, min(at, last - at))]


def without_link_lists(blocks: Sequence[Block], _: Known) -> list[Block]:
    """No runs of items or rows that are mostly links; unless the page is made of links."""
    if _is_link_page(blocks):
        return list(blocks)
    kept: list[Block] = []
    for is_list, group in groupby(blocks, key=lambda block: block.kind in ("item", "row")):
        run = list(group)
        if not is_list or sum(block.linked for block in run) < 0.6 * length_of(run):
            kept += run
    return kept


def without_title(blocks: Sequence[Block], context: Known) -> list[Block]:
    """No title among the first blocks: it is a field of its own."""
    return _without_at_top(blocks, lambda block: _repeats(block, context.titles))


def without_byline(blocks: Sequence[Block], context: Known) -> list[Block]:
    """No line of author, picture, date or address of the page among the first blocks."""

    def tells(block: Block) -> bool:
        text = block.text
        if len(text) >= _LONGEST_BYLINE or block.ends_a_sentence:
            return False
        return any(form.match(text) for form in (BYLINE, ONLY_A_DATE, ONLY_A_URL)) or letters(text) in context.authors

    return _without_at_top(blocks, tells)


def without_labels(blocks: Sequence[Block], _: Known) -> list[Block]:
    """No lines that only name a box, a picture, an advertisement."""
    return [block for block in blocks if not _is_label(block)]


def without_tail(blocks: Sequence[Block], _: Known) -> list[Block]:
    """No calls to the reader, notes on author and rights, headings and stray short lines at the end.

    At most a fifth of the text; and a longer run of short lines is a list that belongs to the article.
    """
    kept = list(blocks)
    total = length_of(kept)
    average = total / max(1, len(kept))
    if average > _LONG_AVERAGE and _short_run(kept) > _MOST_SHORT:
        average = 0
    left_out = 0
    while len(kept) > _FEWEST_LEFT:
        block = kept[-1]
        left_out += len(block.text)
        if not _belongs_to_no_text(block, average) or left_out > _TAIL_SHARE * total:
            break
        kept.pop()
    return kept


def _belongs_to_no_text(block: Block, average: float) -> bool:
    if block.kind == "heading":
        return True
    if len(block.text) < _LONGEST_CALL and CALL.search(block.text):
        return True
    return average > _LONG_AVERAGE and _is_short(block)


def _is_label(block: Block) -> bool:
    # Open-ended labels (`Subscribe to ...`) begin like sentences; a whole sentence of some length is one.
    longest = _SHORT if block.ends_a_sentence else _LONGEST_LABEL
    return len(block.text) < longest and bool(WHOLE_LABEL.match(block.text))


def _short_run(blocks: Sequence[Block]) -> int:
    return next((at for at, block in enumerate(reversed(blocks)) if not _is_short(block)), len(blocks))


def _is_short(block: Block) -> bool:
    return block.kind == "paragraph" and len(block.text) < _SHORT and not block.ends_a_sentence


def _leads_away(block: Block, from_edge: int) -> bool:
    if len(block.text) >= _LONGEST_LINE:
        return False
    if block.link_share >= 0.5 and POINTER.match(block.text):
        return True
    if block.link_share < 0.9 or block.kind not in ("paragraph", "heading", "quote"):
        return False
    if block.ends_a_sentence and len(block.text) > _SHORT:
        return False
    # In the middle a linked heading heads a part of the article (products, people), and an address is a source.
    stays_amid = block.kind == "heading" or ONLY_A_URL.match(block.text)
    return not stays_amid or from_edge < _EDGE


def _is_link_page(blocks: Sequence[Block]) -> bool:
    return sum(block.linked for block in blocks) > _LINK_PAGE_SHARE * length_of(blocks)


def _repeats(block: Block, titles: frozenset[str]) -> bool:
    text = letters(block.text)
    if len(text) <= _SHORT_TITLE:
        return len(text) > _FEWEST_LETTERS and text in titles
    if any(title.startswith(text) or title.endswith(text) for title in titles):
        return True
    # A heading with a line above the title in it.
    return block.kind == "heading" and any(
        len(title) > _SHORT_TITLE and len(text) < 2 * len(title) and text.endswith(title) for title in titles
    )


def _without_at_top(blocks: Sequence[Block], goes: Callable[[Block], bool]) -> list[Block]:
    return [block for at, block in enumerate(blocks) if at >= _TOP or not goes(block)]


RULES: tuple[Rule, ...] = (
    without_bare_links,
    without_link_lists,
    without_title,
    without_byline,
    without_labels,
    without_tail,
)
