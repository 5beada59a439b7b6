"""Matching by host and path."""

import time

import pytest

from issuetracker_dagster.flow.rules import HostTable


def test_host_and_decoded_path_match_whatever_the_spelling() -> None:
    table = HostTable([("news.example.com", "^/A b$", "hit")])
    assert table.find("HTTP://News.Example.com:8080/A%20b") == "hit"


def test_the_longer_pattern_is_asked_first_whatever_the_saved_order() -> None:
    table = HostTable([("a.com", "", "any"), ("a.com", "/news/", "short"), ("a.com", "/news/live/", "long")])
    assert table.find("http://a.com/news/live/1") == "long"
    assert table.find("http://a.com/news/1") == "short"
    assert table.find("http://a.com/") == "any"


def test_ties_keep_the_saved_order() -> None:
    table = HostTable([("a.com", "/x.", "first"), ("a.com", "/.y", "second")])
    assert table.find("http://a.com/xy") == "first"


def test_an_exact_host_comes_before_a_wildcard() -> None:
    table = HostTable([("*.a.com", "/a-very-long-path", "wild"), ("b.a.com", "", "exact")])
    assert table.find("http://b.a.com/a-very-long-path") == "exact"
    assert table.find("http://c.a.com/a-very-long-path") == "wild"


def test_a_wildcard_does_not_match_the_bare_domain() -> None:
    assert HostTable([("*.a.com", "", "wild")]).find("http://a.com/") is None


def test_nested_quantifiers_cannot_hang_the_match() -> None:
    table = HostTable([("a.com", "(a+)+$", "hit")])
    began = time.monotonic()
    assert table.find("http://a.com/" + "a" * 5_000 + "!") is None
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("host", ["News.example.com", "http://a.com", "a.com:80", "a.*.com", "a com", ""])
def test_a_host_that_is_no_host_form_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="host"):
        HostTable([(host, "", 1)])


@pytest.mark.parametrize("path", ["(", "a(?=b)", r"(a)\1", "x" * 1_001])
def test_a_path_that_re2_refuses_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path expression"):
        HostTable([("a.com", path, 1)])
