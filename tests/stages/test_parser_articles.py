"""What the general extractor finds, on small pages that each show one thing."""

import json
from datetime import UTC, datetime

import pytest

from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.stages.language import detect_language
from issuetracker_dagster.stages.parser.article import Article
from tests.stages.parser_world import SENTENCE, article_html, read

KOREAN = "정부는 월요일 홍수로 무너진 다리를 다시 짓기로 결정했다고 밝혔다. "


def article(
    html: str | bytes, url: str = "https://news.example.com/world/1", rule: ParserRule | None = None
) -> Article:
    found = read(html, url, rule=rule).article
    assert found is not None
    return found


def utc(found: Article) -> str:
    moment = datetime.fromtimestamp(found.published_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M") if found.published_ms else ""


def json_ld(**node: object) -> str:
    return f'<script type="application/ld+json">{json.dumps({"@type": "NewsArticle", **node})}</script>'


def test_json_ld_comes_before_open_graph_and_each_field_names_its_source() -> None:
    head = (
        json_ld(
            headline="Bridge to be rebuilt",
            datePublished="2026-11-30T10:00:00+09:00",
            author=[{"@type": "Person", "name": "Ann Lee"}, {"name": "Bo Kim"}],
            articleSection="World",
            keywords="flood, bridge",
            image={"url": "/a.jpg"},
        )
        + '<meta property="og:title" content="Bridge will be rebuilt | Example News">'
        + '<meta property="og:site_name" content="Example News"><meta name="author" content="Someone Else">'
        + '<meta property="article:published_time" content="2020-01-01"><meta name="description" content="In short.">'
    )
    found = article(article_html(head=head))
    assert found.fields.title == "Bridge will be rebuilt"
    assert found.fields.author == "Ann Lee, Bo Kim"
    assert (found.fields.category, found.fields.tags) == ("World", ("flood", "bridge"))
    assert found.fields.images == ("https://news.example.com/a.jpg",)
    assert found.fields.summary == "In short."
    assert utc(found) == "2026-11-30 01:00"
    assert found.sources == {
        "title": "opengraph", "author": "json_ld", "category": "json_ld", "tags": "json_ld", "images": "json_ld",
        "summary": "opengraph", "body": "trafilatura", "published_at": "json_ld",
    }  # fmt: skip


@pytest.mark.parametrize(
    "script",
    [
        '{"@graph": [{"@type": "WebPage"}, {"@type": ["NewsArticle"], "headline": "A b c d e", "author":'
        ' {"@id": "#p"}}, {"@id": "#p", "@type": "Person", "name": "Ann Lee"}]}',
        '[{"@type": "https://schema.org/NewsArticle", "headline": "A b c d e", "author": "Ann Lee",}]',
        '<!-- {"@type": "Article", "headline": "A b\nc d e", "author": ["By Ann Lee"]} -->',
        '{"@type": "WebPage", "mainEntity": {"@type": "ReportageNewsArticle", "headline": "A b c d e",'
        ' "creator": "Ann Lee"}}',
        '//<![CDATA[\n{"@type": "Article", "headline": "A b c d e", "author": {"name": ["Ann Lee"]}}\n//]]>',
    ],
)
def test_json_ld_is_read_in_every_shape_that_sites_give_it(script: str) -> None:
    found = article(f'<script type="application/ld+json">{script}</script><p>x</p>').fields
    assert (found.title, found.author) == ("A b c d e", "Ann Lee")


@pytest.mark.parametrize("script", ["", "{", "[" * 5_000, '{"@type": 5, "@graph": "x"}', "null", '"x"'])
def test_broken_json_ld_breaks_nothing(script: str) -> None:
    assert article(article_html(head=f'<script type="application/ld+json">{script}</script>')).fields.title


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("By Ann Lee", "Ann Lee"),
        ("홍길동 기자", "홍길동"),
        ("홍길동 선임기자 hong@example.co.kr", "홍길동"),
        ("글: 홍길동 특파원", "홍길동"),
        ("Ann Lee and Bo Kim", "Ann Lee, Bo Kim"),
        ("https://www.facebook.com/example", ""),
        ("Ann Lee (Image: Agency, Other)", "Ann Lee"),
    ],
)
def test_a_byline_comes_down_to_names(written: str, name: str) -> None:
    assert article(article_html(head=f'<meta name="author" content="{written}">')).fields.author == name


def test_a_section_around_the_title_goes_when_heading_and_json_ld_agree_on_the_rest() -> None:
    head = (
        json_ld(headline="Bridge to be rebuilt") + '<meta property="og:title" content="Flood | Bridge to be rebuilt">'
    )
    found = article(article_html(head=head, title="Bridge to be rebuilt"))
    assert (found.fields.title, found.sources["title"]) == ("Bridge to be rebuilt", "json_ld")
    unsaid = article(article_html(head=head, title="Another heading altogether"))
    assert unsaid.fields.title == "Flood | Bridge to be rebuilt"


def test_a_korean_page_in_euc_kr_is_read_whole() -> None:
    html = article_html(
        KOREAN * 8, '<meta charset="euc-kr"><meta name="date" content="입력 2026.11.30 10:00">', "펲시 다리 재건"
    )
    found = article(html.encode("cp949"), "https://news.example.co.kr/1")
    assert found.fields.title == "펲시 다리 재건"
    assert found.fields.body.count("홍수로") == 8
    assert (found.language, utc(found)) == ("ko", "2026-11-30 01:00")


def test_a_copyright_line_is_no_date() -> None:
    assert utc(article(article_html() + "<footer>Copyright 1998-2026 Example. All rights reserved.</footer>")) == ""


def test_a_day_in_the_url_is_a_date_of_last_resort() -> None:
    found = article(article_html(), "https://news.example.com/2026/11/28/bridge")
    assert utc(found) == "2026-11-28 00:00"
    assert found.sources["published_at"] == "htmldate"


def test_dates_after_the_fetch_are_left_for_validate_to_judge() -> None:
    assert utc(article(article_html(head=json_ld(datePublished="2031-01-01T00:00:00Z")))) == "2031-01-01 00:00"


PARAGRAPHS = [SENTENCE * 3, "The mayor said that work would begin in March and end before winter. " * 3]


def next_flight() -> str:
    text = "".join(f"<p>{part}</p>" for part in PARAGRAPHS)
    rows = f'1:["$","div",null,{{"x":1}}]\n2:T{len(text.encode()):x},{text}'
    return "".join(
        f"<script>self.__next_f.push([1,{json.dumps(rows[start : start + 100])}])</script>"
        for start in range(0, len(rows), 100)
    )


def next_data() -> str:
    page = {"props": {"pageProps": {"article": {"title": "x", "bodyHtml": "".join(f"<p>{p}</p>" for p in PARAGRAPHS)}}}}
    return f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(page)}</script>'


def initial_state() -> str:
    blocks = [{"type": "paragraph", "text": part} for part in [*PARAGRAPHS, SENTENCE]]
    teasers = [{"headline": "Other", "text": SENTENCE * 2, "url": "/2"}] * 20
    return f"<script>window.__INITIAL_STATE__ = {json.dumps({'a': {'blocks': blocks}, 'more': teasers})};</script>"


@pytest.mark.parametrize("script", [next_flight(), next_data(), initial_state()], ids=["flight", "data", "state"])
def test_a_body_that_only_a_script_carries_is_found(script: str) -> None:
    found = article(f"<html><body><h1>Bridge to be rebuilt</h1><div id='app'></div>{script}</body></html>")
    assert found.sources["body"] == "embedded"
    assert all(" ".join(part.split()) in " ".join(found.fields.body.split()) for part in PARAGRAPHS)
    assert "<p>" not in found.fields.body
    assert "Other" not in found.fields.body


def test_the_article_body_of_json_ld_stands_in_for_a_page_drawn_by_a_script() -> None:
    found = article(f"<html><body><h1>Bridge</h1>{json_ld(headline='Bridge', articleBody=SENTENCE * 5)}</body></html>")
    assert found.fields.body == (SENTENCE * 5).strip()


def test_a_rule_finds_attributes_and_several_matches() -> None:
    rule = ParserRule(
        host_pattern="news.example.com",
        selectors={
            "title": SelectorSpec(css="h1"),
            "main_content": SelectorSpec(css=".b"),
            "tags": SelectorSpec(css=".tag", multi=True),
            "images": SelectorSpec(css=".b img", attribute="src", multi=True),
            "published_at": SelectorSpec(css="time", attribute="datetime"),
            "author": SelectorSpec(css=".by"),
        },
        options={"timezone": "Europe/Berlin"},
    )
    html = (
        "<h1>Title &amp; more</h1><p class=by>By Ann Lee</p><time datetime='2026-11-30 10:00'></time>"
        "<i class=tag>one</i><i class=tag>two</i><div class=b><!-- <p>old</p> -->"
        "<p>First <b>bold</b>.</p><script>x()</script><p>\nSecond.</p>"
        "<img src=/i.png></div>"
    )
    found = article(html, rule=rule)
    assert found.fields.title == "Title & more"
    assert found.fields.body == "First bold.\n\nSecond."
    assert (found.fields.tags, found.fields.author) == (("one", "two"), "Ann Lee")
    assert found.fields.images == ("https://news.example.com/i.png",)
    assert utc(found) == "2026-11-30 09:00"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("정부는 오늘 Apple과 Google, Microsoft 등에 대해 조사를 시작했다", "ko"),
        ("The government said today that it would rebuild the bridge", "en"),
        ("Die Regierung hat heute mitgeteilt, dass die Brücke neu gebaut wird", "de"),
        ("日本の政府は今日、橋を再建すると発表した", "ja"),
        ("GOVERNMENT TO REBUILD THE BRIDGE THAT THE FLOOD CARRIED AWAY", "en"),
        ("12:30 2026", ""),
        ("", ""),
    ],
)
def test_the_language_is_told_offline(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_half_a_surrogate_pair_in_json_ld_costs_a_character_and_not_the_article() -> None:
    head = json_ld(headline="The river rose by two metres \ud83d", articleBody=SENTENCE * 20)
    found = article(f"<html><head>{head}</head><body><div id=app></div></body></html>")
    assert found.fields.title.startswith("The river rose by two metres")
    assert found.language == "en"


def test_tags_that_only_readers_see_are_tags_too() -> None:
    links = '<a rel="tag" href="/t/1">#Flood</a> <a href="/topics/bridges">Bridges</a> <a href="/world/2">World</a>'
    shown = article_html().replace("</article>", f"<p>{links}</p></article>") + '<a href="/tag/other">Other</a>'
    assert article(shown).fields.tags == ("Flood", "Bridges")
    assert article(shown.replace("</head>", '<meta name="keywords" content="river"></head>')).fields.tags == ("river",)
