"""The guide to priority rules says what the commands do: every example is executed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.flow.explain import explain
from issuetracker_dagster.model.rules import PriorityRule
from tests.cli.terminal import Terminal
from tests.docs.guide import run

GUIDE = (Path(__file__).parents[2] / "docs" / "priority-rules.md").read_text(encoding="utf-8")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    opened = Terminal(tmp_path, monkeypatch)
    yield opened
    opened.stores.close()


def test_every_example_prints_what_the_guide_says(terminal: Terminal) -> None:
    assert run(GUIDE, terminal).splitlines() == GUIDE.splitlines()


def test_a_changed_output_is_noticed(terminal: Terminal) -> None:
    block = "```console\n$ issuetracker rules add a.com --priority low\nAdded rule 1: a.com ^/ (article), low.\n```"
    assert "a.com (any path) (article), low" in run(block, terminal)


def test_expressions_find_what_the_guide_says() -> None:
    rows = [
        line.replace("\\|", "\x00").split("|")
        for line in GUIDE.splitlines()
        if line.startswith(("| `^", "| `b", "| `["))
    ]
    assert len(rows) == 6
    for row in rows:
        (expression,), finds, doesnt = (re.findall("`(.*?)`", cell.replace("\x00", "|")) for cell in row[1:4])
        rule = PriorityRule(host="a.com", path=expression)
        found = {path: explain([rule], f"https://a.com{path}").decides is rule for path in (*finds, *doesnt)}
        assert found == dict.fromkeys(finds, True) | dict.fromkeys(doesnt, False)


def test_the_guide_has_examples_of_every_command() -> None:
    commands = {line.split()[3] for line in GUIDE.splitlines() if line.startswith("$ issuetracker rules ")}
    assert commands == {
        "add", "list", "show", "edit", "disable", "enable", "test", "import", "export", "preview", "refresh",
    }  # fmt: skip
