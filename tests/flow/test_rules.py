"""Matching by host and path: in the promised order, in linear time, and as one by one would."""

import logging
import random
import time

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from issuetracker_dagster.flow import rules
from issuetracker_dagster.flow.rules import HostTable, sift
from issuetracker_dagster.model.rules import host_forms
from issuetracker_dagster.model.urls import place_of
from tests.examples import examples


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


@pytest.mark.parametrize("expression", ["(a+)+$", "(.{0,100}a){0,10};$", "((a*)*)*b", ".*.*.*.*=.*;"])
def test_nested_quantifiers_cannot_hang_the_match(expression: str) -> None:
    table = HostTable([("a.com", expression, "hit"), ("a.com", "^/never/", "other")])
    began = time.process_time()
    assert table.find("http://a.com/" + "a" * 5_000 + "!") is None
    assert time.process_time() - began < 2


@pytest.mark.parametrize("host", ["News.example.com", "http://a.com", "a.com:80", "a.*.com", "a com", ""])
def test_a_host_that_is_no_host_form_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="host"):
        HostTable([(host, "", 1)])


@pytest.mark.parametrize("path", ["(", "a(?=b)", r"(a)\1", "x" * 1_001])
def test_a_path_that_re2_refuses_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path expression"):
        HostTable([("a.com", path, 1)])


def one_by_one(entries: list[tuple[str, str, int]], url: str) -> int | None:
    """What a table has to answer, in the words of the design."""
    host, path = place_of(url)
    for form in host_forms(host):
        for pattern_host, expression, value in sorted(entries, key=lambda entry: -len(entry[1])):
            if pattern_host == form and re2.search(expression, path):
                return value
    return None


HOSTS = st.sampled_from(["a.com", "b.a.com", "*.a.com", "*.com", "*.b.a.com"])
PIECES = [
    "/",
    "a",
    "b",
    "K",
    "ſ",
    "é",
    "가",
    ".",
    "1",
    "a/b",
    "(?i)k",
    "(?i)S",
    "[ab]",
    "[^a]",
    "\\d",
    ".*",
    "a+",
    "(?:a|b1)",
]
PATHS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=3).map(lambda pieces: "^/" + "".join(pieces)),
    st.lists(st.sampled_from(PIECES), max_size=3).map(lambda pieces: "".join(pieces) + "$"),
)
URLS = st.builds(
    lambda host, path: f"http://{host}/{path}",
    st.sampled_from(["a.com", "b.a.com", "c.a.com", "x.b.a.com", "com", "other.org"]),
    st.text(alphabet="abkKsSſKéÉ가1/.%-", max_size=12),
)


@pytest.mark.parametrize("few", [rules.FEW, 0])
@settings(max_examples=examples(300), deadline=None)
@given(entries=st.lists(st.tuples(HOSTS, PATHS), max_size=12), urls=st.lists(URLS, min_size=1, max_size=6))
def test_a_table_answers_as_asking_one_by_one_would(few: int, entries: list[tuple[str, str]], urls: list[str]) -> None:
    numbered = [(host, path, number) for number, (host, path) in enumerate(entries)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "FEW", few)
        table = HostTable(numbered)
    for url in urls:
        assert table.find(url) == one_by_one(numbered, url), url


def long_rules(length: int) -> list[tuple[str, str, int]]:
    words = random.Random(7)
    return [("a.com", "/" + "".join(words.choices("abcdefgh", k=length)), number) for number in range(400)]


def test_rules_too_large_for_one_set_are_still_asked_in_order() -> None:
    entries = long_rules(450)
    table = HostTable(entries)
    for _, path, number in entries[::40]:
        assert table.find(f"http://a.com/x{path}") == number
    assert table.find("http://a.com/x") is None


def test_a_set_that_runs_out_of_memory_is_noticed_and_its_rules_are_asked_one_by_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(re2.Set, "Match", lambda *_: None)
    table = HostTable([("a.com", "^/live/", "hit"), ("a.com", "^/live/no/", "longer"), ("a.com", "", "any")])
    with caplog.at_level(logging.WARNING):
        found = [table.find(f"http://a.com{path}") for path in ("/live/1", "/live/no/1", "/x")]
    assert found == ["hit", "longer", "any"]
    assert len(caplog.records) == 1


def test_a_bad_entry_is_sifted_out_alone_with_its_reason() -> None:
    good, refused = sift([("a.com", "^/a", 1), ("A.com", "", 2), ("a.com", "(", 3), ("b.com", "", 4)])
    assert [value for _, _, value in good] == [1, 4]
    assert len(refused) == 2
    assert "lower case" in refused[0]
    assert "isn't RE2" in refused[1]
