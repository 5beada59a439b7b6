"""What a page may do to the parser: each case ends within the processor time of a page, and as promised.

Either the article is still read, or the page is refused with the reason that stands beside the case.
"""

import gzip
import json
import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.stages.parser.nesting import DEEPEST, is_too_deep
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import ExtractionPool
from issuetracker_dagster.stages.parser.reading import PageReading, PageRequest
from tests.stages.parser_world import NOW_MS, SENTENCE, article_html

pytestmark = pytest.mark.slow

READ = "read"
MEGABYTE = 1_000_000
MANY = 100_000
KOREAN = "정부는 월요일 홍수로 무너진 다리를 다시 짓기로 결정했다. "
STORY = SENTENCE.strip()


class Case(NamedTuple):
    body: bytes
    promised: str = READ
    kind: TargetType = TargetType.ARTICLE
    text: str = STORY


def page(inside: str = "", head: str = "") -> bytes:
    return article_html(head=head).replace("</article>", f"{inside}</article>").encode()


def deep(tag: str) -> bytes:
    return page(f"<{tag}>" * MANY + "x")


def json_ld(text: str) -> bytes:
    return page(head=f'<script type="application/ld+json">{text}</script>')


def article_of(**fields: object) -> str:
    return json.dumps({"@type": "NewsArticle", "headline": "Council votes to rebuild the bridge", **fields})


NESTED = {
    **{f"{tag} nested 100,000 deep": Case(deep(tag)) for tag in ("b", "font", "table", "svg", "object", "template")},
    **{
        f"{tag} nested 100,000 deep": Case(deep(tag), "too_complex")
        for tag in ("div", "blockquote", "section", "ul><li", "details")
    },
    "closed again": Case(page("<div>" * MANY + "x" + "</div>" * MANY), "too_complex"),
    "JSON-LD": Case(json_ld("[" * 900_000)),
}
BIG = {
    "an attribute of 9 MB": Case(page(f'<a href="/{"x" * 9 * MEGABYTE}">y</a>')),
    "a picture of 9 MB in the page": Case(page(f'<img src="data:image/png;base64,{"x" * 9 * MEGABYTE}">')),
    "100,000 attributes": Case(page("<div " + " ".join(f"a{n}=1" for n in range(MANY)) + ">x"), "too_complex"),
    "9 MB in one line": Case(page(f"<p>{SENTENCE * 95_000}</p>")),
    "9 MB in one word": Case(page(f"<p>{'x' * 9 * MEGABYTE}</p>")),
    "9 MB of blanks": Case(page(f"<p>{' ' * 9 * MEGABYTE}</p>")),
    "two million line breaks": Case(page("<br>" * 2 * MEGABYTE), "too_complex"),
    "100,000 authors": Case(json_ld(article_of(author=[{"name": f"A {n}"} for n in range(MANY)]))),
    "a million numbers": Case(json_ld("[" + "0," * 900_000 + "0]")),
    "a million unclosed comments": Case(page("<!--" * MEGABYTE)),
}
ENTITIES = {
    "two million ampersands": Case(page("&amp;" * 2 * MEGABYTE)),
    "an ampersand of ampersands": Case(page("&" + "amp;" * 2 * MEGABYTE)),
    "characters that are none": Case(page("&#x110000;&#0;&#xD800;&nosuchthing;" * MANY)),
    "in the title": Case(page(head=f"<title>{'&lt;' * MEGABYTE}</title>")),
}
BYTES = {
    "a NUL after each byte": Case(b"\0".join(bytes([byte]) for byte in page())),
    "NULs inside tags": Case(page().replace(b"<p", b"<\0p").replace(b"<h1", b"<h\x001")),
    "nothing but NULs": Case(b"\0" * MEGABYTE, "empty"),
    "a character cut in two": Case(page(f"<p>{KOREAN}</p>")[:-1] + "한".encode()[:2]),
    "Korean labelled as UTF-8": Case(
        b'<meta charset="utf-8"><article><h1>x</h1><p>' + (KOREAN * 40).encode("cp949"), text=KOREAN.strip()
    ),
    "UTF-7, which nobody reads": Case(b'<meta charset="utf-7">+ADw-script+AD4-' + page()),
    "random bytes": Case(random.Random(7).randbytes(MEGABYTE), "not_text"),
}
FILES = {
    "a feed nested 100,000 deep": Case(b"<rss version='2.0'><channel>" + b"<item>" * MANY, "", TargetType.FEED),
    "9 MB that are no feed": Case(b"x" * 9 * MEGABYTE, "not_a_feed", TargetType.FEED),
    "a JSON feed nested deep": Case(b'{"version": "x", "items": ' + b"[" * MEGABYTE, "not_a_feed", TargetType.FEED),
    "a sitemap nested a million deep": Case(b"<urlset>" + b"<x>" * MEGABYTE, "", TargetType.SITEMAP),
    "a sitemap that unpacks to 60 MB": Case(gzip.compress(b" " * 60 * MEGABYTE), "too_large", TargetType.SITEMAP),
    "a million ends of entries": Case(b"<urlset>" + b"</url>" * MEGABYTE, "", TargetType.SITEMAP),
}  # fmt: skip
CASES = {**NESTED, **BIG, **ENTITIES, **BYTES, **FILES}

BOXES = page("<div class=a>" * 3_000 + "x" + "</div>" * 3_000 + "<section><p>x</p></section>" * 3_000)
SELECTORS = [
    " ".join(["div"] * 60), "*:has(* *)", "p ~ p ~ p ~ p ~ p", ":not(" * 50 + "p" + ")" * 50,
    ":is(" * 500 + "p" + ")" * 500, "p:nth-last-child(2n+1)", "p[", "", "\0", "x" * 10_000,
]  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Iterator[ExtractionPool]:
    pool = ExtractionPool(ParserOptions(processes=1, cpu_budget_s=4.0))
    pool.start()
    yield pool
    pool.close()


def request(body: bytes, kind: TargetType = TargetType.ARTICLE, rule: ParserRule | None = None) -> PageRequest:
    return PageRequest(
        body=body, content_type="text/html", url="https://a.example/1", target_type=kind, fetched_ms=NOW_MS, rule=rule
    )


def ending(pool: ExtractionPool, asked: PageRequest) -> tuple[str, PageReading | None]:
    try:
        return READ, pool.read(asked)
    except PermanentError as error:
        return str(error.code), None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_hostile_page_ends_as_promised(pool: ExtractionPool, case: Case) -> None:
    code, reading = ending(pool, request(case.body, case.kind))
    if case.kind is not TargetType.ARTICLE:
        # An empty promise: nothing in it, whether that is said by a code or by no entry.
        assert code == case.promised or (
            not case.promised and (reading is None or not any(link.is_url for link in reading.entries))
        )
        return
    assert code == case.promised
    if reading is not None:
        assert reading.article is not None
        assert case.text in reading.article.fields.body


@pytest.mark.parametrize("css", SELECTORS, ids=[css[:20] for css in SELECTORS])
def test_a_catastrophic_selector_costs_its_page_and_no_other(pool: ExtractionPool, css: str) -> None:
    rule = ParserRule(
        host_pattern="a.example",
        selectors={"title": SelectorSpec(css="h1"), "main_content": SelectorSpec(css=css, multi=True)},
    )
    code, reading = ending(pool, request(BOXES, rule=rule))
    assert code in (READ, "too_complex")
    assert reading is None or (reading.article and reading.article.sources["rule"].startswith(("used", "missed")))
    assert pool.read(request(page())).article


def test_a_page_that_a_selector_made_too_complex_names_the_rule(pool: ExtractionPool) -> None:
    selectors = {"title": SelectorSpec(css="h1"), "main_content": SelectorSpec(css=SELECTORS[0])}
    with pytest.raises(PermanentError, match="rule 7") as caught:
        pool.read(request(BOXES, rule=ParserRule(rule_id=7, host_pattern="a.example", selectors=selectors)))
    assert caught.value.code == "too_complex"


def test_a_sitemap_with_nuls_or_in_utf_16_is_read(pool: ExtractionPool) -> None:
    text = "<urlset><url><loc>https://a.example/2</loc></url></urlset>"
    for body in (text.replace("><", ">\0<").encode(), text.encode("utf-16"), f'<?xml version="1.0"?>{text}\0'.encode()):
        assert [link.url for link in pool.read(request(body, TargetType.SITEMAP)).entries] == ["https://a.example/2"]


def test_only_boxes_that_stay_open_make_a_page_deep() -> None:
    boxes = DEEPEST + 1
    assert is_too_deep("<DIV class=x>" * boxes)
    assert is_too_deep("<ul><li>" * boxes)
    assert not is_too_deep("<div></div>" * boxes)
    assert not is_too_deep("<div>" * DEEPEST)
    assert not is_too_deep("<p>text<li>item<br><divider>" * boxes)
    assert not is_too_deep("</div>" * boxes + "<div>" * 10)
