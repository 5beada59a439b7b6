"""Which text of a page becomes the body: small pages that show a source, a quotation or a reading."""

import json

from tests.stages.parser_world import SENTENCE, article_html, read

PARAGRAPHS = [f"In year {number} nobody crossed it. {SENTENCE}" for number in range(12)]


def body(html: str) -> tuple[str, str]:
    article = read(html).article
    assert article is not None
    return article.fields.body, article.sources.get("body", "")


def test_paragraphs_are_lines_and_the_site_says_nothing() -> None:
    page = article_html("\n".join([*PARAGRAPHS, "Sign up for our newsletter today."]))
    assert body(page) == ("\n".join(text.strip() for text in PARAGRAPHS), "trafilatura")


def test_a_quoted_post_is_part_of_the_article() -> None:
    post = (
        '<div class="social-media-embed"><blockquote class="twitter-tweet"><p>The bridge is gone, says our '
        "<a href='https://t.example/1'>webcam</a> tonight.</p>Ann Lee (@annlee)</blockquote></div>"
    )
    page = article_html("\n".join(PARAGRAPHS)).replace("</p><p>In year 6", f"</p>{post}<p>In year 6")
    assert "The bridge is gone, says our webcam tonight." in body(page)[0]


def test_a_reading_stays_in_its_brackets() -> None:
    page = article_html(
        "\n".join([*PARAGRAPHS, "橋は<ruby>流<rp>（</rp><rt>なが</rt><rp>）</rp></ruby>された。" + SENTENCE])
    )
    assert "橋は流（なが）された。" in body(page)[0]


def test_a_page_that_tells_machines_more_is_looked_at_again() -> None:
    shown = "".join(f"<div>{text}</div>" for text in PARAGRAPHS)
    told = json.dumps({"@type": "NewsArticle", "articleBody": "\n".join(PARAGRAPHS)})
    head = f'<script type="application/ld+json">{told}</script>'
    page = f"<html><head>{head}</head><body><article><h1>Bridge</h1><p>{SENTENCE}</p>{shown}</article></body></html>"
    assert all(text.strip() in body(page)[0] for text in PARAGRAPHS)


def test_a_deeply_nested_page_is_read_or_left_but_breaks_nothing() -> None:
    for tag in ("div", "b", "blockquote", "ul><li", "table><tr><td"):
        body(f"<html><body>{f'<{tag}>' * 5_000}{SENTENCE * 10}</body></html>")


def test_tables_and_lists_stay_in_the_text_a_line_each() -> None:
    table = "<table><tr><th>Bridge</th><th>Built</th></tr><tr><td>North</td><td>1911</td></tr></table>"
    items = "<ul><li>Traffic goes over the North bridge until May.</li><li>Ferries sail every hour, for free.</li></ul>"
    page = article_html("\n".join(PARAGRAPHS)).replace("</p><p>In year 6", f"</p>{table}{items}<p>In year 6")
    lines = body(page)[0].split("\n")
    start = lines.index("Bridge | Built")
    assert lines[start : start + 4] == [
        "Bridge | Built",
        "North | 1911",
        "- Traffic goes over the North bridge until May.",
        "- Ferries sail every hour, for free.",
    ]


def test_tables_and_lists_of_a_body_for_machines_are_lines_too() -> None:
    told = (
        f"<p>{SENTENCE * 4}</p><table><tr><td>North</td><td>1911</td></tr><tr><td>South</td></tr></table><li>one</li>"
    )
    rows = ["North 1911", "South", "one"]
    head = f'<script type="application/ld+json">{json.dumps({"@type": "NewsArticle", "articleBody": told})}</script>'
    assert body(f"<html><head>{head}</head><body></body></html>")[0].split("\n\n")[1:] == rows
