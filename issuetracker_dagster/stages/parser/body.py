"""The body text of an article: trafilatura first, then what the page carries for machines."""

import logging

from lxml import html as lxml_html
from selectolax.lexbor import LexborHTMLParser
from trafilatura import bare_extraction

from issuetracker_dagster.stages.parser.embedded import embedded_body, plain_text

logger = logging.getLogger(__name__)

_SHORT = 200
_CUT_SHORT = 0.5
_LONGEST = 1_000_000


def find_body(text: str, page: LexborHTMLParser, article_body: str) -> tuple[str, str]:
    """The body and what produced it (`trafilatura`, `json_ld`, `embedded`); two empty strings when there is none.

    `article_body` is what JSON-LD says; it wins when the visible text is much shorter (the page is drawn by a script).
    """
    visible = _trafilatura(text)
    spelled_out = plain_text(article_body)
    if len(visible) < len(spelled_out) * _CUT_SHORT and len(spelled_out) >= _SHORT:
        return spelled_out[:_LONGEST], "json_ld"
    if len(visible) < _SHORT and (embedded := embedded_body(page)):
        return embedded[:_LONGEST], "embedded"
    if visible:
        return visible[:_LONGEST], "trafilatura"
    return spelled_out[:_LONGEST], "json_ld" if spelled_out else ""


def _trafilatura(text: str) -> str:
    try:
        # The tree is made here: given a string, trafilatura would guess at encodings and meta labels once more.
        tree = lxml_html.document_fromstring(_without_declaration(text), parser=lxml_html.HTMLParser(collect_ids=False))
        found = bare_extraction(tree, include_comments=False, with_metadata=False)
    except MemoryError:
        raise
    except Exception:
        # Whatever the library trips over, the other sources may still know the body.
        logger.warning("the body extractor gave up on a page", exc_info=True)
        return ""
    return (found.text or "").strip() if found is not None and not isinstance(found, dict) else ""


def _without_declaration(text: str) -> str:
    # lxml refuses str with an XML encoding declaration.
    head = text.lstrip()
    return head[head.find("?>") + 2 :] if head.startswith("<?xml") and "?>" in head[:500] else text
