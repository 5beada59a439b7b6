"""`issuetracker dlq`: what somebody sees who looks for letters, and what happens to those they choose."""

import json
import time

import pytest

from issuetracker_dagster.model.letters import LetterFilter, LetterState, indexed
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.stage import Stage, Topic
from tests.cli.terminal import Terminal
from tests.dead_letters import junk, letter, lying, written

ALL = LetterFilter(states=())
DAY_MS = 86_400_000


def ago(milliseconds: int) -> int:
    return time.time_ns() // 1_000_000 - milliseconds


def some(terminal: Terminal) -> None:
    """Three letters, youngest last, and one of random bytes."""
    given = [
        (written("old", at_ms=0, reason="expired", stage=Stage.ENRICH), 2 * DAY_MS),
        (written("mid", b'{"url": "https://news.example.com/1"}', at_ms=0), 3_600_000),
        (written("new", at_ms=0, other=(("redrive_count", b"3"),)), 60_000),
    ]
    records = [lying(each, offset, logged_ms=ago(age_ms)) for offset, (each, age_ms) in enumerate(given)]
    terminal.stores.dead_letters.record([indexed(each) for each in (*records, junk(9, logged_ms=ago(DAY_MS)))])


def test_list_shows_open_letters_youngest_first_and_tells_exhausted_ones_apart(terminal: Terminal) -> None:
    some(terminal)
    lines = terminal.does("dlq", "list").splitlines()
    assert [line.split()[0] for line in lines] == ["id", "3", "2", "4", "1", "4"]
    assert "exhausted" in lines[1]
    assert "dlq:0:9" in lines[3]
    assert lines[-1] == "4 open letters."


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--stage", "parser"], [3, 2]),
        (["--stage", "unknown"], [4]),
        (["--stage", "enrich", "--stage", "parser", "--reason", "expired"], [1]),
        (["--host", "News.example.com"], [2]),
        (["--host", "*.example.com"], [2]),
        (["--host", "https://News.example.com:8443/1?a=b"], [2]),
        (["--host", "news.example.com:8443"], [2]),
        (["--older-than", "30m"], [2, 4, 1]),
        (["--newer-than", "2h"], [3, 2]),
        (["--older-than", "30m", "--newer-than", "2h"], [2]),
        (["--limit", "1"], [3]),
        (["--state", "purged"], []),
        (["--state", "all"], [3, 2, 4, 1]),
    ],
)
def test_filters_choose(terminal: Terminal, words: list[str], ids: list[int]) -> None:
    some(terminal)
    told = terminal.does("dlq", "list", "--json", *words)
    assert [json.loads(line)["letter_id"] for line in told.splitlines()] == ids


def test_filters_that_mean_nothing_are_refused_with_what_to_write(terminal: Terminal) -> None:
    assert "parser" in terminal.fails("dlq", "list", "--stage", "parse")
    assert "30s are seconds" in terminal.fails("dlq", "purge", "--older-than", "30", "--yes")
    assert "30s, 5m" in terminal.fails("dlq", "list", "--older-than", "soon")
    assert "has no host in it; give news.example.com" in terminal.fails("dlq", "list", "--host", "ftp://example.com/a")
    assert "less than --newer-than" in terminal.fails("dlq", "list", "--older-than", "2h", "--newer-than", "1h")


def test_a_thousand_letters_are_listed_and_filtered_fast(terminal: Terminal) -> None:
    terminal.stores.dead_letters.record(
        [letter(f"root{n}", b'{"url": "https://host%d.com/"}' % (n % 10), offset=n, at_ms=n + 1) for n in range(1_000)]
    )
    began = time.process_time()
    assert terminal.does("dlq", "list", "--limit", "1000").splitlines()[-1] == "1000 open letters."
    told = terminal.does("dlq", "list", "--host", "host3.com", "--reason", "http_404", "--limit", "20")
    assert told.splitlines()[-1] == "100 open letters; the 20 youngest are shown."
    assert time.process_time() - began < 2.0


def test_show_prints_headers_history_and_value(terminal: Terminal) -> None:
    past = (
        b'[{"stage":"fetch","reason":"http_503","error":"busy","generation":0,"at_ms":1,"redriven_ms":2}]',
        b"not json",
    )
    terminal.stores.dead_letters.record(
        [
            letter("r", offset=n, generation=n, other=(("redrive_history", each), ("mine", b"\xff\x01")))
            for n, each in enumerate(past)
        ]
    )
    told = terminal.does("dlq", "show", "1")
    for expected in (
        "http_404",
        "not found",
        "dlq:0:0",
        "fetched:1:7",
        "mine: hex ff 01",
        '{"url": "https://a.com/1"}',
    ):
        assert expected in told
    assert "generation 0 died" in told
    assert "fetch, http_503: busy" in told
    assert "generation 0 died" not in terminal.does("dlq", "show", "r:1")
    assert "show one of 2, 1" in terminal.fails("dlq", "show", "r")
    assert "no letter 99" in terminal.fails("dlq", "show", "99")


def test_bytes_are_shown_in_hex_and_bounded_and_no_terminal_obeys_them(terminal: Terminal) -> None:
    evil = written("evil", b"\x1b[2J" + b"x" * 5_000, reason="\x1b[31mred", error="a\nb\x07")
    terminal.stores.dead_letters.record([indexed(junk(1)), indexed(lying(evil, 2))])
    assert "hex ff 00 7b" in terminal.does("dlq", "show", "1")
    told = (
        terminal.does("dlq", "show", "2") + terminal.does("dlq", "list") + terminal.does("dlq", "show", "2", "--json")
    )
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "bytes more (--full shows them)" in told
    assert "x" * 5_000 in terminal.does("dlq", "show", "2", "--full")


def test_a_letter_too_large_for_the_index_says_where_it_would_be_and_which_setting_helps(terminal: Terminal) -> None:
    terminal.stores.dead_letters.record([letter(value=b"x" * 50_000)])
    told = terminal.does("dlq", "show", "1")
    assert "can't be shown" in told
    assert "KAFKA_BOOTSTRAP_SERVERS" in told


def test_a_dry_run_needs_no_kafka_and_explains_what_is_left(terminal: Terminal) -> None:
    some(terminal)
    told = terminal.does("dlq", "redrive", "--dry-run")
    assert told.startswith("Would redrive")
    assert "Would redrive: 2 (1 to fetched, 1 to validated)." in told
    assert "1 exhausted (redriven too often already; --force" in told
    assert "1 no_identity" in told
    assert terminal.stores.dead_letters.count(LetterFilter()) == 4
    assert "Would redrive: 1 " in terminal.does("dlq", "redrive", "--dry-run", "--id", "2", "--id", "4")
    assert "Would redrive: 3 " in terminal.does("dlq", "redrive", "--dry-run", "--force")


def test_a_redrive_without_kafka_says_what_is_missing_and_marks_nothing(terminal: Terminal) -> None:
    some(terminal)
    told = terminal.fails("dlq", "redrive", "--yes")
    assert "KAFKA_BOOTSTRAP_SERVERS" in told
    assert "the same command goes on" in told
    assert terminal.stores.dead_letters.count(LetterFilter()) == 4


def test_a_redrive_of_everything_asks_first(terminal: Terminal) -> None:
    assert "Redriven: 0." in terminal.does("dlq", "redrive")
    some(terminal)
    told = terminal.fails("dlq", "redrive", typed="n\n")
    assert "Redrive 4 of all 4 open letters?" in told
    assert "Aborted!" in told
    assert "Redrive 2 of all 4" in terminal.fails("dlq", "redrive", "--limit", "2", typed="n\n")
    assert "Redrive" not in terminal.does("dlq", "redrive", "--host", "nobody.com").replace("Redriven", "")


def test_purge_asks_first_and_marks_only_what_is_meant(terminal: Terminal) -> None:
    some(terminal)
    assert "say which letters" in terminal.fails("dlq", "purge")
    terminal.fails("dlq", "purge", "--older-than", "1d", typed="n\n")
    assert terminal.stores.dead_letters.count(LetterFilter()) == 4
    assert "Give up 1 of 4 open letters?" in terminal.does("dlq", "purge", "--stage", "enrich", typed="y\n")
    assert "Purged: 1." in terminal.does("dlq", "purge", "--older-than", "30m", "--stage", "parser", "--yes")
    assert "No open letters" in terminal.does("dlq", "purge", "--host", "nobody.com")
    states = [each.state for each in terminal.stores.dead_letters.after(ALL, 0, 9)]
    assert states == [LetterState.PURGED, LetterState.PURGED, LetterState.OPEN, LetterState.OPEN]


def test_a_letter_of_somebody_elses_hand_is_left(terminal: Terminal) -> None:
    terminal.stores.dead_letters.record([indexed(lying(Outgoing(Topic.DLQ, None, b"", [("root_id", b"x")])))])
    assert "1 no_stage" in terminal.does("dlq", "redrive", "--dry-run")
