"""What an article's page is besides: behind a paywall, a live blog, a gallery; and what on it says so.

Sites name classes and scripts `paywall` on free pages too, so only what a page says about itself counts.
"""

import re
from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.model.marks import GALLERY, LIVE_BLOG, PAYWALL
from issuetracker_dagster.stages.parser.json_ld import Json, articles, parts_of, types_of, urls_of
from issuetracker_dagster.stages.parser.meta_tags import MetaTags
from issuetracker_dagster.stages.parser.patterns import path_and_query

_TIER_NAMES = ("article:content_tier", "og:article:content_tier", "article:content-tier")
_PAID_TIERS = frozenset({"locked", "metered", "paid", "premium", "subscriber"})
_LIVE_TYPES = frozenset({"LiveBlogPosting"})
_GALLERY_TYPES = frozenset({"ImageGallery", "MediaGallery"})
# Whole words of a path. `live`, `gallery` and `photos` alone are words of ordinary headlines too.
_LIVE_PATH = re.compile(
    r"(?:^|[/_-])(?:live[-_]?(?:blog|ticker|updates?)|minuto-a-minuto|al-minuto|en-direct|ao-vivo|in-diretta)(?=$|[/_.-])",
    re.IGNORECASE,
)
_GALLERY_PATH = re.compile(
    r"/(?:gallery|galleries|galerie|galeria)(?=/|$)"
    r"|(?:^|[/_-])(?:(?:photo|picture|image|foto)[-_]?(?:gallery|galleries|galleria|galer[ií]as?|strecken?)|"
    r"bilder(?:galerie|strecke)n?|diaporamas?|slideshows?)(?=$|[/_.-])",
    re.IGNORECASE,
)
_LIVE_HEADINGS = frozenset({"liveblog", "liveticker", "liveupdates", "endirect", "minutoaminuto", "실시간중계"})
_PICTURES = "article figure img, main figure img, [itemtype$='ImageGallery'] img"
_SOURCES = ("data-src", "data-original", "data-lazy-src", "src")


def read_marks(page: LexborHTMLParser, nodes: Sequence[Json], meta: MetaTags, url: str) -> dict[str, str]:
    """Each mark that the page bears, with what gave it: `json_ld`, `opengraph`, `markup` or `url`."""
    path = path_and_query(url).partition("?")[0]
    found = {
        PAYWALL: _paywall(nodes, meta),
        LIVE_BLOG: _named(page, nodes, _LIVE_TYPES) or _live_heading(page) or _in_path(_LIVE_PATH, path),
        GALLERY: _named(page, nodes, _GALLERY_TYPES) or _in_path(_GALLERY_PATH, path),
    }
    return {mark: origin for mark, origin in found.items() if origin}


def gallery_images(page: LexborHTMLParser, nodes: Sequence[Json]) -> list[str]:
    """URLs of the pictures that a gallery shows, as written."""
    told = [url for node in nodes if types_of(node) & _GALLERY_TYPES for url in urls_of(node.get("image"))]
    shown = (
        next((value for name in _SOURCES if (value := node.attributes.get(name)) and not value.startswith("data:")), "")
        for node in page.css(_PICTURES)
    )
    return [*told, *shown]


def _paywall(nodes: Sequence[Json], meta: MetaTags) -> str:
    # Not any node: pages list other articles with what those cost.
    for node in (*articles(nodes)[:1], *(node for node in nodes if "WebPage" in types_of(node))):
        own = _is_free(node.get("isAccessibleForFree"))
        if own is None and any(_is_free(part.get("isAccessibleForFree")) is False for part in parts_of(node)):
            own = False
        if own is not None:
            return "" if own else "json_ld"
    named = _is_free(meta.first("isaccessibleforfree"))
    if named is not None:
        return "" if named else "markup"
    return "opengraph" if meta.first(*_TIER_NAMES).lower() in _PAID_TIERS else ""


def _is_free(value: object) -> bool | None:
    """True or false as schema.org and those who misread it write them; None for anything else."""
    word = str(value).rpartition("/")[2].strip().lower()
    return {"true": True, "false": False, "yes": True, "no": False}.get(word)


def _named(page: LexborHTMLParser, nodes: Sequence[Json], types: frozenset[str]) -> str:
    if any(types_of(node) & types for node in nodes):
        return "json_ld"
    return "markup" if page.css_first(", ".join(f'[itemtype$="{kind}"]' for kind in sorted(types))) else ""


def _live_heading(page: LexborHTMLParser) -> str:
    headings = page.css("h1, h2")[:20]
    words = ("".join(filter(str.isalnum, node.text().lower())) for node in headings)
    return "markup" if any(word in _LIVE_HEADINGS for word in words) else ""


def _in_path(pattern: re.Pattern[str], path: str) -> str:
    return "url" if pattern.search(path) else ""
