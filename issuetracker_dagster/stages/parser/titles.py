"""Which of the titles that a page gives its article is kept, and how much of it is the site talking."""

import re

import msgspec

from issuetracker_dagster.stages.parser.fields import Fields

_SEPARATORS = re.compile(r"\s+[|\-–—:·•>»/]+\s+|\s*[|ㅣ]\s*|\s*::+\s*|\s*：\s*|\s*<\s+")
_SHORTEST_TITLE = 10
_SHORTEST_REST = 5


class Titles(msgspec.Struct, frozen=True, kw_only=True):
    """Every title that a page gives its article, a line each, empty where it gives none.

    `shared` is OpenGraph's, `headline` JSON-LD's, `tracked` what the site tells its analytics, `window` the `<title>`,
    `visible` the heading that looks most like the article's. `sites` are names of the site.
    """

    shared: str = ""
    headline: str = ""
    tracked: str = ""
    window: str = ""
    visible: str = ""
    headings: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()


def choose_title(titles: Titles) -> tuple[str, Fields]:
    """The title and where it is from: OpenGraph's, since editors write it for readers elsewhere; JSON-LD's headline;
    the heading.

    OpenGraph's stands back where it isn't such a title, but what the page's own is made into for search engines.
    """
    named = [("opengraph", titles.shared), ("json_ld", titles.headline), ("markup", titles.visible)]
    if _was_made(titles) or _was_cut(titles):
        del named[0]
    # What both say to the end is no site's name.
    both_say_so = _letters(titles.shared) == _letters(titles.headline)
    headings = () if both_say_so else (*titles.headings, titles.headline)
    for origin, title in named:
        if bare := strip_site_name(title, titles.sites, headings):
            return origin, Fields(title=bare)
    return "markup", Fields()


def _was_made(titles: Titles) -> bool:
    """Whether JSON-LD and a heading agree on another title, around which OpenGraph's only has words put, or which is
    what the site tells its analytics; or OpenGraph's is the `<title>`, which is written to be searched for."""
    headings, headline = set(map(_letters, titles.headings)), _letters(titles.headline)
    shared, window = (
        _letters(strip_site_name(text, titles.sites, (*titles.headings, titles.headline)))
        for text in (titles.shared, titles.window)
    )
    if len(titles.headline) < _SHORTEST_TITLE or headline not in headings or shared == headline:
        return False
    return headline in shared or headline == _letters(titles.tracked) or shared == window


def _was_cut(titles: Titles) -> bool:
    """Whether an unescaped quotation mark ended the attribute that OpenGraph's title is in."""
    shared = titles.shared
    longer = (text[len(shared) :] for text in (titles.window, *titles.headings) if text.startswith(shared))
    return bool(shared) and any(rest.lstrip().startswith('"') for rest in longer)


def strip_site_name(title: str, site_names: tuple[str, ...], headings: tuple[str, ...] = ()) -> str:
    """The title without the site's name at its end or start.

    A part goes when it is a name of the site, or when what remains is a heading of the page word for word.
    """
    sites = {_letters(name) for name in site_names if name}
    for match in reversed(list(_SEPARATORS.finditer(title))):
        kept, cut = title[: match.start()].strip(), title[match.end() :].strip()
        is_site = _letters(cut) in sites or _letters(kept) in {_letters(text) for text in headings}
        if len(kept) >= _SHORTEST_REST and is_site:
            return strip_site_name(kept, site_names, headings)
    first = _SEPARATORS.search(title)
    if first and _letters(title[: first.start()]) in sites and len(title) - first.end() >= _SHORTEST_REST:
        return title[first.end() :].strip()
    return title


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
