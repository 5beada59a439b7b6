"""Metadata in `<meta>`, `<link>`, `<time>` and headings: OpenGraph and its many cousins."""

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.stages.parser.fields import Fields, line_of, people, title_line, unique

_AUTHOR_NAMES = (
    "author", "article:author", "og:article:author", "dable:author", "byl", "parsely-author", "sailthru.author",
    "dc.creator", "dcterms.creator", "citation_author", "cxenseparse:author", "twitter:creator:name",
)  # fmt: skip
_DATE_NAMES = (
    "article:published_time", "og:article:published_time", "article:published", "datepublished", "date_published",
    "publication_date", "publishdate", "pubdate", "parsely-pub-date", "dc.date.issued", "dcterms.created", "dc.date",
    "sailthru.date", "cxenseparse:recs:publishtime", "citation_publication_date", "og:regdate", "date",
)  # fmt: skip
_SECTION_NAMES = ("article:section", "og:article:section", "article:section2", "parsely-section", "section", "category")
_TAG_NAMES = ("article:tag", "og:article:tag", "parsely-tags", "news_keywords", "keywords")
_SHORTEST_HEADING = 10
_TAG_LINKS = ", ".join(
    [
        'a[rel="tag"]',
        *(f'{box} a[href*="/{word}/"]' for box in ("article", "main") for word in ("tag", "tags", "topics")),
    ]
)
_LONGEST_TAG = 60
_MOST_TAGS = 20
ANALYTICS_TITLES = ("sailthru.title", "cxenseparse:title", "parsely-title")
_VISIBLE_DATES = 'time[datetime], [itemprop="datePublished"]'


class MetaTags:
    """All named meta values of a page, by lower-case name."""

    def __init__(self, page: LexborHTMLParser) -> None:
        self._values: dict[str, list[str]] = {}
        for node in page.css("meta[content]"):
            attributes = node.attributes
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
            if content := attributes.get("content"):
                self._values.setdefault(name.strip().lower(), []).append(content)

    def first(self, *names: str) -> str:
        return line_of(self._first(names))

    def title(self, *names: str) -> str:
        """The first value, as a title."""
        return title_line(self._first(names))

    def all(self, *names: str) -> list[str]:
        """Every value of the first of the names that has any."""
        return next((self._values[name] for name in names if self._values.get(name)), [])

    def _first(self, names: tuple[str, ...]) -> str:
        return next((value for name in names for value in self._values.get(name, ()) if value.strip()), "")


def read_open_graph(meta: MetaTags) -> Fields:
    """Fields of the page's meta tags."""
    return Fields(
        title=meta.title("og:title", "twitter:title", "dable:title", "parsely-title"),
        author=_author(meta),
        category=meta.first(*_SECTION_NAMES),
        tags=unique(line_of(word) for value in meta.all(*_TAG_NAMES) for word in value.split(",")),
        images=unique(meta.all("og:image", "og:image:url", "twitter:image"), 10),
        summary=meta.first("og:description", "description", "twitter:description"),
        published=meta.first(*_DATE_NAMES),
    )


def _author(meta: MetaTags) -> str:
    for name in _AUTHOR_NAMES:
        if found := people(meta.all(name)):
            return found
    return ""


def headings(page: LexborHTMLParser) -> tuple[str, ...]:
    """The first of the page's main headings, a line each."""
    return tuple(title_line(node.text(separator=" ")) for node in page.css("h1")[:5])


def window_title(page: LexborHTMLParser) -> str:
    """What `<title>` says; empty when there is none."""
    node = page.css_first("head title") or page.css_first("title")
    return title_line(node.text()) if node else ""


def read_markup(page: LexborHTMLParser) -> Fields:
    """Fields in visible markup: headings, `<time>`, microdata, rel=author, rel=tag and links to pages of a tag."""
    main = next((text for text in headings(page) if len(text) >= _SHORTEST_HEADING), "")
    date = page.css_first(_VISIBLE_DATES)
    names = [node.text() for node in page.css('[itemprop="author"] [itemprop="name"], a[rel~="author"]')[:10]]
    return Fields(
        title=main or window_title(page),
        author=people(names),
        tags=unique(_tags(page), _MOST_TAGS),
        published=line_of((date.attributes.get("datetime") or date.attributes.get("content") or date.text()), 100)
        if date
        else "",
    )


def _tags(page: LexborHTMLParser) -> Iterator[str]:
    for node in page.css(_TAG_LINKS)[:100]:
        text = line_of(node.text()).removeprefix("#")
        if len(text) <= _LONGEST_TAG:
            yield text
