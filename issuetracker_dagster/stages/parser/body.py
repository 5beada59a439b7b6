"""The body text of an article: what the page shows without the site's own words; else what it tells machines."""

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.stages.parser.blocks import length_of, text_of
from issuetracker_dagster.stages.parser.boilerplate import Known, article_blocks, letters
from issuetracker_dagster.stages.parser.embedded import embedded_body, plain_text
from issuetracker_dagster.stages.parser.extractor import visible_blocks

_SHORT = 200
_CUT_SHORT = 0.5
_LONGEST = 1_000_000


def find_body(text: str, page: LexborHTMLParser, article_body: str, known: Known) -> tuple[str, str]:
    """The body and what produced it (`trafilatura`, `json_ld`, `embedded`); two empty strings when there is none.

    `article_body` is what JSON-LD says; it wins when the visible text is much shorter (the page is drawn by a script).
    """
    spelled_out = plain_text(article_body)
    blocks = visible_blocks(text, len(spelled_out))
    # Sources are weighed with all that is visible: how much of it is the site's talk doesn't tell a drawn page.
    length = length_of(blocks)
    if length < len(spelled_out) * _CUT_SHORT and len(spelled_out) >= _SHORT:
        return spelled_out[:_LONGEST], "json_ld"
    # On a page without text the extractor resorts to JSON-LD too, and makes one line of it.
    if len(blocks) == 1 and letters(blocks[0].text) == letters(spelled_out):
        return spelled_out[:_LONGEST], "json_ld"
    if length < _SHORT and (embedded := embedded_body(page)):
        return embedded[:_LONGEST], "embedded"
    if blocks:
        return text_of(article_blocks(blocks, known))[:_LONGEST], "trafilatura"
    return spelled_out[:_LONGEST], "json_ld" if spelled_out else ""
