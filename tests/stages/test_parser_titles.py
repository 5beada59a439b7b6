"""Which of a page's titles is kept: one small page a rule, and recorded pages on which it decides."""

import json
from pathlib import Path

import pytest

from benchmarks.quality import readers
from benchmarks.quality.recorded import page
from issuetracker_dagster.stages.parser.titles import Titles, choose_title, strip_site_name
from tests.stages.parser_world import article_html, read

HEADING = "Council votes to rebuild the bridge"
FOR_READERS = "They had waited for seven years"


def chosen(**titles: object) -> tuple[str, str]:
    origin, fields = choose_title(Titles(**titles))  # type: ignore[arg-type]
    return fields.title, origin


def test_the_title_that_editors_wrote_for_readers_elsewhere_comes_first() -> None:
    given = {"headline": HEADING, "visible": HEADING, "headings": (HEADING,), "window": f"{HEADING} | Example News"}
    assert chosen(shared=FOR_READERS, **given) == (FOR_READERS, "opengraph")
    assert chosen(**given) == (HEADING, "json_ld")
    assert chosen(visible=HEADING) == (HEADING, "markup")
    assert chosen() == ("", "markup")


def test_a_title_for_search_engines_gives_way_to_what_json_ld_and_heading_agree_on() -> None:
    searched = "Bridge rebuilding: date, cost, detours"
    given = {"headline": HEADING, "headings": (HEADING,), "sites": ("Example News",)}
    assert chosen(shared=f"{searched} - Example News", window=f"{searched} | Example News", **given)[0] == HEADING
    assert chosen(shared=searched, window=searched, headline=HEADING, headings=("Another heading",))[0] == searched


def test_what_a_site_tells_its_analytics_settles_whether_the_heading_is_the_title() -> None:
    given = {"headline": HEADING, "headings": (HEADING,), "window": HEADING, "shared": FOR_READERS}
    assert chosen(tracked=HEADING, **given) == (HEADING, "json_ld")
    assert chosen(tracked=FOR_READERS, **given) == (FOR_READERS, "opengraph")


def test_a_title_that_its_own_quotation_mark_cut_off_is_none() -> None:
    whole = 'Marathon in the rain: a winner and "the royal guest"'
    given = {"shared": "Marathon in the rain: a winner and", "visible": whole, "headings": (whole,), "window": whole}
    assert chosen(**given) == (whole, "markup")
    assert chosen(shared="Marathon in the rain", headings=("Marathon in the rain, again",))[1] == "opengraph"


def test_a_tail_that_open_graph_and_json_ld_share_is_no_sites_name() -> None:
    title = "Forest fires: where they burn - as of tonight"
    given = {"shared": title, "headings": ("Forest fires: where they burn",)}
    assert chosen(headline=title, **given)[0] == title
    assert chosen(**given)[0] == "Forest fires: where they burn"
    named = "Forest fires: where they burn - Example News"
    assert chosen(shared=named, headline=named, sites=("Example News",))[0] == "Forest fires: where they burn"


def test_the_same_title_in_other_quotation_marks_stays_open_graphs() -> None:
    given = {"headline": "The “bridge” is back again", "headings": ("The “bridge” is back again",)}
    assert chosen(shared='The "bridge" is back again | Example', **given) == ('The "bridge" is back again', "opengraph")


def test_blanks_that_editors_set_stay_and_all_others_collapse() -> None:
    title = "  Roky v\xa0důchodu\n\t 震度5弱\u3000気象庁 \xa0 "
    told = json.dumps({"@type": "NewsArticle", "headline": title})
    for head in (
        f'<meta property="og:title" content="{title}">',
        f'<script type="application/ld+json">{told}</script>',
    ):
        article = read(article_html(head=head)).article
        assert article is not None
        assert article.fields.title == "Roky v\xa0důchodu 震度5弱\u3000気象庁"
    article = read(article_html(title=title)).article
    assert article is not None
    assert article.fields.title == "Roky v\xa0důchodu 震度5弱\u3000気象庁"


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Bridge rebuilt | Example News", "Bridge rebuilt"),
        ("Bridge rebuilt - example news", "Bridge rebuilt"),
        ("Example News: Bridge rebuilt", "Example News: Bridge rebuilt"),
        ("Example News | Bridge rebuilt", "Bridge rebuilt"),
        ("Bridge - and dam - rebuilt", "Bridge - and dam - rebuilt"),
        ("Heading of the page - World - Whatever", "Heading of the page"),
        ("Example News", "Example News"),
    ],
)
def test_a_title_loses_its_site_and_nothing_else(title: str, bare: str) -> None:
    assert strip_site_name(title, ("Example News",), ("Heading of the page",)) == bare


@pytest.mark.parametrize(
    "name", ["KleineZeitung_2025_06_30", "iNews_2023_08_30", "Haberturk_2024_07_03", "HamburgerAbendblatt_2024_04_28"]
)
def test_recorded_pages_on_which_a_rule_decides_get_their_title(shared_data: Path, name: str) -> None:
    recorded = page("fundus", name, shared_data)
    assert readers.parser(recorded, "").title == recorded.gold.title
