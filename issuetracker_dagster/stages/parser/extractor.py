"""The visible text of an article's page, by trafilatura: the tree it is given, and how hard it is asked to look."""

import logging

from lxml import etree
from lxml import html as lxml_html
from trafilatura import bare_extraction

from issuetracker_dagster.stages.parser.blocks import Block, length_of, read_blocks

logger = logging.getLogger(__name__)

_ENOUGH = 1_200
_TOLD_MORE = 1.3


def visible_blocks(text: str, told_length: int) -> list[Block]:
    """The blocks of the page's article; none when the extractor finds nothing or gives up.

    `told_length` is the length of the body that the page tells machines, 0 when it tells none. The quick look is
    enough for most pages: the thorough one, which costs half as much again and sometimes takes in a second article, is
    for short finds; the generous one for pages that say that there is more.
    """
    blocks = _extracted(text, fast=True)
    if length_of(blocks) < _ENOUGH:
        blocks = max(blocks, _extracted(text), key=length_of)
    if told_length > length_of(blocks) * _TOLD_MORE:
        generous = _extracted(text, favor_recall=True)
        blocks = min(blocks, generous, key=lambda found: abs(length_of(found) - told_length))
    return blocks


def _extracted(text: str, *, fast: bool = False, favor_recall: bool = False) -> list[Block]:
    try:
        found = bare_extraction(
            _tree_of(text), include_comments=False, include_links=True, with_metadata=False,
            fast=fast, favor_recall=favor_recall,
        )  # fmt: skip
    except MemoryError:
        raise
    except Exception:
        # Whatever the library trips over, the other sources may still know the body.
        logger.warning("the body extractor gave up on a page", exc_info=True)
        return []
    body = getattr(found, "body", None)
    return read_blocks(body) if isinstance(body, etree._Element) else []


def _tree_of(text: str) -> "etree._Element":
    # The tree is made here: given a string, trafilatura would guess at encodings and meta labels once more.
    tree = lxml_html.document_fromstring(_without_declaration(text), parser=lxml_html.HTMLParser(collect_ids=False))
    _keep_readings(tree)
    _keep_quoted_posts(tree)
    return tree


def _keep_readings(tree: "etree._Element") -> None:
    """Ruby's readings with their brackets are text that is read; trafilatura would leave them out."""
    etree.strip_tags(tree, "rp", "rt", "rtc")


def _keep_quoted_posts(tree: "etree._Element") -> None:
    """Posts that an article quotes are part of it; trafilatura takes boxes named `embed` or `social` for buttons."""
    for quote in tree.iter("blockquote"):
        if "-tweet" not in quote.get("class", "") and "-media" not in quote.get("class", ""):
            continue
        quote.attrib.pop("class", None)
        for box in quote.iterancestors():
            if box.tag != "div" or len(box) > 2 or box.find(".//blockquote") is not quote:
                break
            box.attrib.pop("class", None)
            box.attrib.pop("id", None)


def _without_declaration(text: str) -> str:
    # lxml refuses str with an XML encoding declaration.
    head = text.lstrip()
    return head[head.find("?>") + 2 :] if head.startswith("<?xml") and "?>" in head[:500] else text
