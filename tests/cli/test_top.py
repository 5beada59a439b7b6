"""`issuetracker top`: the figures of the moment, servers that are out, and a real terminal."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from issuetracker_dagster.model.letters import indexed
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.readings import Batch, Cell
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.wiring.lookout import Lookout
from tests.cli.servers import NOBODY, Operator, at_servers, content_entry, content_message
from tests.cli.terminal import Terminal
from tests.cli.tmux import COLUMNS, LINES, Screen, screen
from tests.cli.toggles import switches
from tests.dead_letters import lying, written
from tests.waiting import eventually

pytestmark = pytest.mark.services
COMMAND = [sys.executable, "-m", "issuetracker_dagster.cli.main", "top"]


@pytest.fixture
def at(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str) -> Operator:
    return at_servers(terminal, monkeypatch, clean_valkey_url, kafka_bootstrap)


@pytest.fixture
def without_kafka(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str) -> Operator:
    return at_servers(terminal, monkeypatch, clean_valkey_url)


def looked(terminal: Terminal) -> Any:
    return json.loads(terminal.does("top", "--once", "--json"))


def of(found: Any, stage: str) -> Any:
    return next(each for each in found["stages"] if each["stage"] == stage)


def servers(found: Any) -> dict[str, bool]:
    return {server["name"]: server["up"] for server in found["servers"]}


def test_one_look_tells_what_is_where(at: Operator) -> None:
    at.wiring.ready()
    wiring = at.wiring
    wiring.queue(Stage.ENRICH).push(
        [content_entry("a", "https://x.com/1", Priority.HIGH), content_entry("b", "https://x.com/2", Priority.LOW)]
    )
    wiring.queue(Stage.ENRICH).claim("c", 1, 60_000)
    for topic, count in ((Topic.CRAWL_LOW, 3), (Topic.FETCHED, 2)):
        wiring.producer.publish([Outgoing.of(topic, content_message(f"m{n}", "https://x.com/")) for n in range(count)])
    waiting = content_message("r", "https://x.com/")
    wiring.retry_set.schedule(RetryEntry(wiring.heartbeats.now_ms() + 60_000, "validated", Stage.ENRICH, 0, waiting))
    wiring.heartbeats.beat("enrich", 0, "run-1", {"mode": "queue"})
    wiring.stores.dead_letters.record([indexed(lying(written("d", at_ms=0), 0, logged_ms=wiring.heartbeats.now_ms()))])
    found = looked(at.terminal)
    assert servers(found) == {"kafka": True, "redis": True, "database": True}
    enrich = of(found, "enrich")
    assert (enrich["leased"], enrich["delayed"], enrich["outbox"], enrich["unread"]) == (1, 0, 0, 0)
    assert [band["ready"] for band in enrich["bands"]] == [0, 0, 1]
    assert enrich["bands"][2]["oldest_age_ms"] >= 0
    assert enrich["workers"] == {"alive": 1, "wanted": 1, "modes": ["queue"], "waiting": 0, "is_off": None}
    assert [band["unread"] for band in of(found, "fetch")["bands"]] == [0, 0, 3]
    assert (of(found, "fetch")["unread"], of(found, "parser")["unread"]) == (3, 2)
    assert (found["retries"], found["frontier"], found["relay_silent_ms"]) == (1, 0, None)
    assert (found["dead_letters"]["open"], found["dead_letters"]["last_10_min"]) == (1, 1)
    assert found["rules"] is None


def test_without_topics_kafka_is_up_and_their_figures_are_empty(at: Operator) -> None:
    found = looked(at.terminal)
    assert servers(found)["kafka"] is True
    assert of(found, "parser")["unread"] is None


def test_a_kafka_that_is_out_is_named_and_the_rest_goes_on(without_kafka: Operator) -> None:
    at = without_kafka
    at.wiring.queue(Stage.PARSER).push([content_entry("a", "https://x.com/1")])
    found = looked(at.terminal)
    assert servers(found) == {"kafka": False, "redis": True, "database": True}
    assert "KAFKA_BOOTSTRAP_SERVERS" in next(each["error"] for each in found["servers"] if each["name"] == "kafka")
    assert (of(found, "parser")["bands"][1]["ready"], of(found, "parser")["unread"]) == (1, None)
    assert "kafka out" in at.terminal.does("top", "--once")


def test_a_redis_that_is_out_is_named_and_the_rest_goes_on(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, kafka_bootstrap: str
) -> None:
    at = at_servers(terminal, monkeypatch, f"redis://{NOBODY}/0", kafka_bootstrap)
    at.wiring.ready()
    found = looked(at.terminal)
    assert servers(found) == {"kafka": True, "redis": False, "database": True}
    assert (of(found, "parser")["leased"], of(found, "parser")["unread"], found["buffers"]) == (None, 0, None)
    assert found["dead_letters"]["open"] == 0


def test_a_database_that_is_out_is_named_and_the_rest_goes_on(
    without_kafka: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    found = looked(without_kafka.terminal)
    assert servers(found) == {"kafka": False, "redis": True, "database": False}
    assert (found["dead_letters"], found["rules"], found["retries"]) == (None, None, 0)


def test_silent_workers_are_missing_and_switched_off_ones_arent_wanted(
    without_kafka: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = without_kafka
    at.wiring.heartbeats.beat("parser", 0, "run", {"mode": "direct"})
    monkeypatch.setenv("WORKER_DEAD_AFTER", "2ms")
    monkeypatch.setenv("WORKER_HEARTBEAT", "1ms")
    monkeypatch.setenv("STAGES_ENRICH_ENABLED", "false")
    found = eventually(lambda: (f := looked(at.terminal)) and of(f, "parser")["workers"]["alive"] == 0 and f)
    assert of(found, "parser")["workers"] == {
        "alive": 0, "wanted": 1, "modes": [], "waiting": 0, "is_off": None,
    }  # fmt: skip
    assert of(found, "enrich")["workers"]["wanted"] == 0


def test_a_stage_without_workers_is_off_when_its_toggle_is(
    without_kafka: Operator, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    with switches(tmp_path / "dagster") as switch:
        switch("parser_workers", False)
        without_kafka.wiring.heartbeats.beat("validate", 0, "run", {"mode": "queue"})
        switch("validate_workers", False)
        found = looked(without_kafka.terminal)
        off = {stage: of(found, stage)["workers"]["is_off"] for stage in ("fetch", "parser", "validate")}
        # Nobody has moved that of fetch, and validate's worker still lives.
        assert off == {"fetch": None, "parser": True, "validate": None}
        assert "0/1 off" in without_kafka.terminal.does("top", "--once")


def test_rates_come_from_counters_between_two_looks(without_kafka: Operator) -> None:
    wiring = without_kafka.wiring
    claims, handled = "issuetracker_claims_total", "issuetracker_handled_total"

    def count(sequence: int, amount: int) -> None:
        amounts = {
            Cell(claims, ("enrich", "high")): amount,  # type: ignore[arg-type]
            Cell(handled, ("enrich", "high", "forwarded")): amount,  # type: ignore[arg-type]
            Cell(handled, ("enrich", "high", "dead_lettered")): 1,  # type: ignore[arg-type]
            Cell(handled, ("parser", "high", "came_back")): amount,  # type: ignore[arg-type]
            Cell(handled, ("fetch", "low", "deferred")): amount,  # type: ignore[arg-type]
            Cell(handled, ("fetch", "low", "forwarded")): 1,  # type: ignore[arg-type]
        }
        wiring.metric_store.add(Batch("writer", sequence, amounts))

    count(1, 1_000)
    wiring.heartbeats.beat("enrich", 0, "run", {"mode": "queue", "paused": "3"})
    lookout = Lookout(wiring)
    first = lookout.look(10).stages[3]
    assert (first.handled_per_s, first.bands[0].claims_per_s, first.workers.waiting) == (None, None, 0)
    count(2, 100)
    wiring.heartbeats.beat("enrich", 0, "run", {"mode": "queue", "paused": "4"})
    fetch, parser, _, second = lookout.look(10).stages
    assert parser.handled_per_s == 0, "what comes again isn't done"
    assert fetch.handled_per_s is not None
    assert second.bands[0].claims_per_s is not None
    assert second.handled_per_s is not None
    assert second.dead_per_s is not None
    assert second.bands[0].claims_per_s > 0
    assert second.handled_per_s > second.dead_per_s > 0
    assert 0 < fetch.handled_per_s < second.handled_per_s
    assert second.bands[1].claims_per_s == 0
    assert second.workers.waiting == 1


def test_a_server_that_hangs_holds_nothing_up_and_counts_as_out_after_a_while(
    without_kafka: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr("issuetracker_dagster.wiring.lookout.kafka_figures", lambda _: answers.wait(60))
    monkeypatch.setattr("issuetracker_dagster.wiring.lookout.LATE_S", 0.0)
    hanging = Lookout(without_kafka.wiring)
    try:
        eventually(lambda: all(server.up for server in hanging.look(0.2).servers[1:]))
        found = hanging.look(0.2)
        assert (found.servers[0].name, found.servers[0].up) == ("kafka", False)
        assert found.servers[0].error.startswith("no answer for")
    finally:
        answers.set()


def test_wrong_intervals_are_refused_with_what_is_accepted(terminal: Terminal) -> None:
    assert "500ms" in terminal.fails("top", "--interval", "10ms")
    assert "30s, 5m" in terminal.fails("top", "--interval", "fast")


@pytest.fixture
def in_terminal(without_kafka: Operator, tmp_path: Path) -> Iterator[Screen]:
    command = [*COMMAND, "--interval", "500ms"]
    with screen(tmp_path, command, dict(os.environ)) as opened:
        yield opened


def stands(opened: Screen, *words: str, timeout_s: float = 60.0) -> str:
    """What stands on the screen once all these words do."""
    seen = ""

    def stand() -> bool:
        nonlocal seen
        seen = opened.text()
        return all(word in seen for word in words)

    try:
        eventually(stand, timeout_s=timeout_s)
    except AssertionError:
        raise AssertionError(f"{words} don't stand together on the screen:\n{seen}") from None
    return seen


@pytest.mark.slow
def test_in_a_terminal_of_80_columns_it_is_whole_follows_the_queue_and_ends_with_q(
    without_kafka: Operator, in_terminal: Screen
) -> None:
    whole = stands(in_terminal, "issuetracker top", "redis up", "rules ", "kafka out", "q ends")
    lines = whole.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert [line.split()[0] for line in lines if line.startswith(("fetch", "parser", "validate", "enrich"))] == [
        "fetch", "parser", "validate", "enrich"
    ]  # fmt: skip
    without_kafka.wiring.queue(Stage.PARSER).push(
        [content_entry(f"m{n}", "https://x.com/", Priority.HIGH) for n in range(4_711)]
    )
    row = next(line for line in stands(in_terminal, "4711").splitlines() if "4711" in line)
    assert row.split()[:3] == ["parser", "high", "4711"]
    in_terminal.press("x")
    in_terminal.press("q")
    ended = stands(in_terminal, "ended with 0")
    assert "issuetracker top" not in ended, "the screen from before is back"
    assert "modes: icanon echo" in ended


@pytest.mark.slow
def test_ctrl_c_ends_it_clean_and_a_resized_terminal_is_used(in_terminal: Screen) -> None:
    stands(in_terminal, "redis up")
    in_terminal.resize(120, 40)
    stands(in_terminal, "redis up", "q ends")
    in_terminal.press("C-c")
    ended = stands(in_terminal, "ended with 0")
    assert "Traceback" not in ended
    assert "modes: icanon echo" in ended


def test_the_picture_fits_80_columns_with_large_figures(
    without_kafka: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = without_kafka.wiring.queue(Stage.VALIDATE)
    queue.push([content_entry(f"m{n}", "https://x.com/") for n in range(12_345)])
    without_kafka.wiring.heartbeats.beat("validate", 0, "run", {"mode": "starting"})
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    lines = without_kafka.terminal.does("top", "--once").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("validate"))
    assert "1/1 starting" in lines[at]
    assert lines[at + 1].split()[:2] == ["normal", "12345"]
    assert max(map(len, lines)) <= COLUMNS
