"""Pages without a body: what the parser says about them, by which their host is upgraded."""

import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.outcome import EMPTY_BODY, is_empty_page
from tests.stages.parser_world import ParserWorld, article_html

SHELL = "<html><head><title>Council votes to rebuild the bridge</title></head><body><div id='app'></div></body></html>"


def test_an_article_with_a_title_and_no_body_is_stored_and_said_to_be_empty() -> None:
    world = ParserWorld()
    outcome = world.handle(world.stored(SHELL))
    assert world.content(outcome).title
    assert not world.content(outcome).body
    assert outcome.note == EMPTY_BODY
    assert is_empty_page(outcome)


def test_a_page_with_neither_is_empty_too() -> None:
    world = ParserWorld()
    with pytest.raises(PermanentError) as caught:
        world.handle(world.stored("<html><body><div id='app'></div></body></html>"))
    assert is_empty_page(caught.value)


def test_a_page_with_a_body_is_not() -> None:
    world = ParserWorld()
    assert not is_empty_page(world.handle(world.stored(article_html())))
