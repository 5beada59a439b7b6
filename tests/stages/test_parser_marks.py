"""What a page is besides an article: behind a paywall, a live blog, a gallery; small pages, then recorded ones."""

import json
from pathlib import Path

import pytest

from benchmarks.quality.readers import FETCHED_MS
from benchmarks.quality.recorded import page
from issuetracker_dagster.model.extraction import ParsedPage
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.marks import GALLERY, LIVE_BLOG, MARKS, PAYWALL
from issuetracker_dagster.stages.parser.reading import PageRequest, read_page
from tests.stages.parser_world import PAGE_URL, ParserWorld, article_html, read


def marks(html: str, url: str = PAGE_URL) -> dict[str, str]:
    article = read(html, url).article
    assert article is not None
    return {mark: origin for mark, origin in article.sources.items() if mark in MARKS}


def json_ld(kind: str = "NewsArticle", **node: object) -> str:
    return f'<script type="application/ld+json">{json.dumps({"@type": kind, **node})}</script>'


def marked(head: str, url: str = PAGE_URL) -> dict[str, str]:
    return marks(article_html(head=head), url)


@pytest.mark.parametrize("said", [False, "False", "false", "http://schema.org/False", "no"])
def test_what_json_ld_calls_not_free_is_behind_a_paywall(said: object) -> None:
    assert marked(json_ld(isAccessibleForFree=said)) == {PAYWALL: "json_ld"}
    assert marked(json_ld("WebPage", isAccessibleForFree=said)) == {PAYWALL: "json_ld"}
    walled = {"@type": "WebPageElement", "isAccessibleForFree": said, "cssSelector": ".wall"}
    assert marked(json_ld(hasPart=walled)) == marked(json_ld(hasPart=[1, walled])) == {PAYWALL: "json_ld"}


@pytest.mark.parametrize("said", [True, "True", "https://schema.org/True"])
def test_what_json_ld_calls_free_is_free_whatever_else_the_page_says(said: object) -> None:
    others = '<meta name="article:content_tier" content="locked"><div class="paywall premium"></div>'
    assert marked(json_ld(isAccessibleForFree=said) + others) == {}


@pytest.mark.parametrize("said", ["", None, 7, [], {}, "perhaps"])
def test_what_says_neither_leaves_it_to_the_tags(said: object) -> None:
    assert marked(json_ld(isAccessibleForFree=said)) == {}
    tier = '<meta property="article:content_tier" content="metered">'
    assert marked(json_ld(isAccessibleForFree=said) + tier) == {PAYWALL: "opengraph"}
    assert marked('<meta itemprop="isAccessibleForFree" content="false">') == {PAYWALL: "markup"}
    assert marked('<meta property="article:content_tier" content="free">') == {}


def test_what_another_article_on_the_page_costs_says_nothing() -> None:
    teasers = [{"@type": "NewsArticle", "headline": "Another", "isAccessibleForFree": False}]
    own = json_ld(headline="Council votes", datePublished="2026-11-30", author="Ann Lee")
    assert marked(own + json_ld("ItemList", itemListElement=teasers)) == {}


def test_a_live_blog_is_told_by_its_type_its_heading_or_its_address() -> None:
    assert marked(json_ld("LiveBlogPosting", headline="The bridge, live")) == {LIVE_BLOG: "json_ld"}
    assert marks('<div itemscope itemtype="https://schema.org/LiveBlogPosting"><h1>The bridge</h1></div>') == {
        LIVE_BLOG: "markup"
    }
    assert marks(article_html().replace("</h1>", "</h1><h2>Live-Ticker</h2>")) == {LIVE_BLOG: "markup"}
    for path in ("bridge-live-updates-2026", "en-direct/pont", "liveblog/1", "2026/puente-minuto-a-minuto.html"):
        assert marked("", f"https://news.example.com/{path}") == {LIVE_BLOG: "url"}, path


def test_a_gallery_is_told_by_its_type_or_its_address_and_its_pictures_are_its_images() -> None:
    node = json_ld("ImageGallery", image={"url": ["/1.jpg", "/2.jpg"]})
    figures = (
        "<figure><img src='data:image/gif;base64,R0' data-src='/3.jpg'></figure><figure><img src='/1.jpg'></figure>"
    )
    html = article_html(head='<meta property="og:image" content="/lead.jpg">' + node)
    article = read(html.replace("</article>", f"{figures}</article>")).article
    assert article is not None
    assert article.sources[GALLERY] == "json_ld"
    assert [image.rsplit("/", 1)[1] for image in article.fields.images] == ["lead.jpg", "1.jpg", "2.jpg", "3.jpg"]
    for path in ("gallery/bridge", "bilder/fotostrecke-bruecke-1", "photo-gallery/1", "fotogaleria/2026/puente"):
        assert marked("", f"https://news.example.com/{path}") == {GALLERY: "url"}, path


@pytest.mark.parametrize(
    "path", ["how-people-live", "live/concerts", "art-gallery-opens-in-london", "photos", "olive-blogs", "x?live-blog"]
)  # fmt: skip
def test_ordinary_words_in_an_address_mark_nothing(path: str) -> None:
    assert marked("", f"https://news.example.com/{path}") == {}


def test_a_mark_is_kept_with_the_content_and_is_none_of_its_fields() -> None:
    world = ParserWorld()
    content = world.content(world.handle(world.stored(article_html(head=json_ld(isAccessibleForFree=False)))))
    assert content.field_sources[PAYWALL] == "json_ld"
    assert PAYWALL not in ParsedPage(host=content.host, url=content.url, sources=content.field_sources).fields


RECORDED = [
    ("fundus", "WashingtonPost_2024_04_26", {PAYWALL: "json_ld"}),
    ("fundus", "TheNation_2023_05_15", {PAYWALL: "json_ld"}),
    ("fundus", "TheIntercept_2023_04_28", {PAYWALL: "json_ld"}),
    ("fundus", "SZ_2023_04_28", {PAYWALL: "opengraph"}),
    ("fundus", "Wired_2024_04_28", {}),
    ("fundus", "FAZ_2023_04_28", {}),
    ("fundus", "Express_2024_07_18", {LIVE_BLOG: "json_ld"}),
    ("fundus", "NZZ_2024_07_18", {PAYWALL: "json_ld", LIVE_BLOG: "markup"}),
    ("fundus", "Bhaskar_2024_09_04", {PAYWALL: "json_ld", GALLERY: "json_ld"}),
]


def marks_of_recorded(collection: str, page_id: str, folder: Path) -> dict[str, str]:
    recorded = page(collection, page_id, folder)
    article = read_page(
        PageRequest(
            body=recorded.data,
            content_type="text/html",
            url=recorded.gold.url,
            target_type=TargetType.ARTICLE,
            fetched_ms=FETCHED_MS,
        )
    ).article
    assert article is not None
    return {mark: origin for mark, origin in article.sources.items() if mark in MARKS}


@pytest.mark.parametrize(("collection", "page_id", "expected"), RECORDED, ids=[page_id for _, page_id, _ in RECORDED])
def test_recorded_pages_bear_their_marks(
    shared_data: Path, collection: str, page_id: str, expected: dict[str, str]
) -> None:
    assert marks_of_recorded(collection, page_id, shared_data) == expected
