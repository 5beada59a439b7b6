"""`issuetracker queue`: what an operator sees of a queue, and what moving and draining back does to it."""

import json
import signal
import sys
from contextlib import closing
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.kafka.unread import KafkaUnread
from issuetracker_dagster.flow.intake import intake_lock
from issuetracker_dagster.local import children
from issuetracker_dagster.model.message import decode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import FACTS, Stage
from tests.cli.servers import Operator, at_servers, content_entry
from tests.cli.terminal import Terminal
from tests.cli.toggles import switches
from tests.waiting import eventually

pytestmark = pytest.mark.services


@pytest.fixture
def at(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str) -> Operator:
    return at_servers(terminal, monkeypatch, clean_valkey_url)


@pytest.fixture
def with_kafka(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> Operator:
    return at_servers(terminal, monkeypatch, clean_valkey_url, kafka_bootstrap)


def fill(at: Operator) -> None:
    """Four entries of two hosts, in three bands."""
    at.wiring.queue(Stage.ENRICH).push(
        [
            content_entry("low1", "https://x.com/1", Priority.LOW),
            content_entry("high", "https://y.com/2", Priority.HIGH),
            content_entry("low2", "https://y.com/3", Priority.LOW),
            content_entry("normal", "https://x.com/4"),
        ]
    )


def order(at: Operator) -> list[str]:
    lines = at.terminal.does("queue", "peek", "enrich", "--json").splitlines()
    return [json.loads(line)["id"] for line in lines]


def moved(at: Operator, *words: str) -> str:
    return at.terminal.does("queue", "move", "enrich", *words)


def unmoved(at: Operator, *words: str, typed: str = "") -> str:
    return at.terminal.fails("queue", "move", "enrich", *words, typed=typed)


def drained(at: Operator, *words: str) -> str:
    return at.terminal.does("queue", "drain-back", *words)


def test_peek_shows_the_order_of_work_and_takes_nothing(at: Operator) -> None:
    fill(at)
    told = at.terminal.does("queue", "peek", "enrich").splitlines()
    assert [line.split()[0] for line in told[:-1]] == ["id", "high:0", "normal:0", "low1:0", "low2:0"]
    assert told[1].split()[1:] == ["high", "0s", "0", "https://y.com/2"]
    assert told[-1].startswith("4 ready in enrich. 0 are being worked on")
    assert (
        at.terminal.does("queue", "peek", "enrich", "--band", "low", "-n", "1").splitlines()[-1].startswith("2 of low")
    )
    assert at.wiring.queue(Stage.ENRICH).depth().ready == 4


def test_peek_in_json_has_the_documented_fields(at: Operator) -> None:
    fill(at)
    first = json.loads(at.terminal.does("queue", "peek", "enrich", "--json", "-n", "1"))
    age_ms = first.pop("age_ms")
    assert 0 <= age_ms < 60_000
    assert first == {
        "id": "high:0",
        "state": "ready",
        "band": "high",
        "deliveries": 0,
        "due_ms": None,
        "url": "https://y.com/2",
        "host": "y.com",
    }


def test_an_empty_queue_says_so_and_a_wrong_stage_what_is_accepted(at: Operator) -> None:
    assert at.terminal.does("queue", "peek", "parser").startswith("0 ready in parser.")
    assert "'parser', 'validate', 'enrich'" in at.terminal.fails("queue", "peek", "fetch")
    assert "high, normal, low" in at.terminal.fails("queue", "move", "parser", "--to", "urgent")


def test_what_is_in_a_payload_cant_steer_the_terminal(at: Operator) -> None:
    at.wiring.queue(Stage.ENRICH).push([content_entry("r", "https://x.com/\x1b[2J")])
    assert "\x1b" not in at.terminal.does("queue", "peek", "enrich")


def test_a_host_moves_and_its_messages_carry_the_new_priority_on(at: Operator) -> None:
    fill(at)
    dry = moved(at, "--to", "high", "--host", "X.com", "--dry-run")
    assert dry == "Would move: 2 of enrich to high.\n"
    assert order(at) == ["high:0", "normal:0", "low1:0", "low2:0"]
    assert moved(at, "--to", "high", "--host", "x.com") == "Moved: 2 of enrich to high.\n"
    assert order(at) == ["low1:0", "high:0", "normal:0", "low2:0"]
    lease = at.wiring.queue(Stage.ENRICH).claim("c", 1, 60_000).leases[0]
    assert (lease.member, decode_envelope(lease.envelope).headers.priority) == ("low1:0", Priority.HIGH)


def test_single_messages_move_by_identity_or_root_id(at: Operator) -> None:
    fill(at)
    told = at.terminal.does(
        "queue", "move", "enrich", "--to", "high", "--id", "low2", "--id", "normal:0", "--id", "high"
    )
    assert told == "Moved: 2 of enrich to high. 1 was there already.\n"
    assert order(at) == ["high:0", "low2:0", "normal:0", "low1:0"]
    told = moved(at, "--to", "low", "--id", "ghost")
    assert told.startswith("ghost isn't found in enrich; ")
    assert "Moved: 0 " in told
    assert "not both" in unmoved(at, "--to", "low", "--id", "a", "--host", "b")


def test_a_host_that_no_url_has_is_refused_with_how_to_write_it(at: Operator) -> None:
    fill(at)
    told = " ".join(unmoved(at, "--to", "high", "--host", "https://x.com/1").split())
    assert "leave out scheme, port and path, write just 'news.example.com'" in told
    assert moved(at, "--to", "high", "--host", "*.com", "--dry-run") == "Would move: 3 of enrich to high.\n"


def test_a_whole_queue_asks_first(at: Operator) -> None:
    fill(at)
    assert "Move all 4 ready entries of enrich?" in at.terminal.fails(
        "queue", "move", "enrich", "--to", "low", typed="n\n"
    )
    assert order(at)[0] == "high:0"
    assert "Move all 2 ready low entries of enrich?" in unmoved(at, "--to", "high", "--from", "low", typed="n\n")
    assert "Moved: 2 " in moved(at, "--to", "low", "--yes")
    assert order(at) == ["low1:0", "high:0", "low2:0", "normal:0"]


def test_draining_back_is_refused_while_nobody_can_tell_that_the_intake_is_off(at: Operator) -> None:
    fill(at)
    told = at.terminal.fails("queue", "drain-back", "enrich")
    assert "DAGSTER_HOME" in told
    assert "ENRICH_PRIORITY_QUEUE_ENABLED=false" in told
    assert at.wiring.queue(Stage.ENRICH).depth().ready == 4


@pytest.mark.slow
def test_draining_back_goes_by_the_sensors_toggle(at: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(at)
    with switches(at.terminal.folder / "home" / "dagster") as switch:
        switch("enrich_intake", True)
        assert "enrich_intake is on" in at.terminal.fails("queue", "drain-back", "enrich")
        assert "Would give back: 0 of parser" in drained(at, "parser", "--dry-run")
        monkeypatch.setenv("PARSER_PRIORITY_QUEUE_ENABLED", "true")
        assert "parser_intake is on" in at.terminal.fails("queue", "drain-back", "parser", "--dry-run")
        switch("enrich_intake", False)
    assert "Would give back: 4 of enrich to validated." in at.terminal.does(
        "queue", "drain-back", "enrich", "--dry-run"
    )


def test_draining_back_puts_every_message_into_its_topic(with_kafka: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    at = with_kafka
    at.wiring.ready()
    fill(at)
    monkeypatch.setenv("ENRICH_PRIORITY_QUEUE_ENABLED", "false")
    assert drained(at, "enrich") == "Given back: 4 of enrich to validated.\n"
    assert at.wiring.queue(Stage.ENRICH).depth().total == 0
    facts = FACTS[Stage.ENRICH]
    assert sum(at.wiring.lag.lag(facts.group, ["validated"]).values()) == 4
    assert drained(at, "enrich") == "Given back: 0 of enrich to validated.\n"


def test_draining_back_without_kafka_loses_nothing_and_says_how_to_go_on(
    at: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(at)
    monkeypatch.setenv("ENRICH_PRIORITY_QUEUE_ENABLED", "false")
    told = at.terminal.fails("queue", "drain-back", "enrich")
    assert "KAFKA_BOOTSTRAP_SERVERS" in told
    assert "the same command goes on" in told
    assert at.wiring.queue(Stage.ENRICH).depth().ready == 4
    assert at.wiring.locks.acquire(intake_lock(Stage.ENRICH), 1_000)


KILLABLE = """
from issuetracker_dagster.flow import drain_back
drain_back.BATCH, drain_back.LEASE_MS, drain_back.LOCK_MS = 20, 3_000, 3_000
from issuetracker_dagster.cli.main import main
main()
"""


@pytest.mark.slow
def test_killed_in_the_middle_and_done_again_no_message_is_lost(
    with_kafka: Operator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = with_kafka
    at.wiring.ready()
    queue, names = at.wiring.queue(Stage.ENRICH), [f"m{number:05}" for number in range(4_000)]
    queue.push([content_entry(name, "https://x.com/") for name in names])
    monkeypatch.setenv("ENRICH_PRIORITY_QUEUE_ENABLED", "false")
    argv = [sys.executable, "-c", KILLABLE, "queue", "drain-back", "enrich"]
    running = children.spawn(argv, log=tmp_path / "log", cwd=tmp_path)
    try:
        eventually(lambda: queue.depth().ready < 3_900, timeout_s=120)
    finally:
        children.stop(running, grace_s=0, first=signal.SIGKILL)
    assert queue.depth().ready > 0, children.tail(tmp_path / "log")
    # What the killed one held comes back with its leases.
    eventually(lambda: drained(at, "enrich") and queue.depth().total == 0, timeout_s=90)
    with closing(KafkaUnread(lambda: at.wiring.kafka)) as kafka:
        found, is_whole = kafka.find("nobody", "validated", names, limit=10_000, within_s=60)
    roots = [dict(record.headers)["root_id"].decode() for record in found]
    assert is_whole
    assert sorted(set(roots)) == names
    assert len(roots) - len(names) <= 20
