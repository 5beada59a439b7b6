"""Live tickers: what a crawler that runs no scripts makes of them."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.local.site.hosts import LIVE
from issuetracker_dagster.local.site.live import SECTION, TICKERS, live_page
from issuetracker_dagster.stages.parser.article import read_article
from issuetracker_dagster.stages.parser.links import discover

BASE = "http://world.localhost:20000"
NOW_MS = 1_800_000_000_000


def tickers(now_ms: int) -> list[str]:
    """The paths of the tickers that the section shows at a time."""
    section = live_page(LIVE, SECTION, now_ms)
    assert section is not None
    urls = discover(LexborHTMLParser(section), BASE + SECTION)
    return [path for url in urls if (path := url.removeprefix(BASE)).startswith(SECTION)]


def test_the_section_shows_other_tickers_each_second() -> None:
    shown = [tickers(NOW_MS + second * 1_000) for second in range(3)]
    assert [len(paths) for paths in shown] == [TICKERS] * 3
    assert len({path for paths in shown for path in paths}) == TICKERS * 3


def test_a_ticker_has_a_title_but_no_text_before_its_script_has_run() -> None:
    path = tickers(NOW_MS)[0]
    text = live_page(LIVE, path, NOW_MS)
    assert text is not None
    article = read_article(text, LexborHTMLParser(text), BASE + path, NOW_MS, None)
    assert article.fields.title.startswith("Ticker ")
    assert article.fields.body == ""


@pytest.mark.parametrize("path", ["/", "/live", "/live/1/", "/live/story-1234567/", "/life/1234567/"])
def test_other_paths_are_none_of_its_pages(path: str) -> None:
    assert live_page(LIVE, path, NOW_MS) is None
