"""Commands beside a running `demo` go by its flags, not by those of their own terminal."""

from contextlib import ExitStack
from pathlib import Path

import click
import pytest

from issuetracker_dagster.cli.doctor_dagster import flag_findings
from issuetracker_dagster.cli.queue_drain_back import refuse_while_on
from issuetracker_dagster.cli.running_flags import as_running
from issuetracker_dagster.local import family
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from tests.cli.members import CODE_SERVER, member
from tests.cli.terminal import Terminal

VARIABLE = "PARSER_PRIORITY_QUEUE_ENABLED"


@pytest.fixture
def home(terminal: Terminal) -> Path:
    found = terminal.folder / "home"
    (found / "dagster").mkdir(parents=True)
    (found / "dagster" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return found


def test_the_code_server_is_the_witness_and_not_what_runs_beside_it(home: Path) -> None:
    with ExitStack() as running:
        running.enter_context(member(home, "site"))
        assert family.code_environment(home) is None
        running.enter_context(member(home, *CODE_SERVER, **{VARIABLE: "true"}))
        found = family.code_environment(home)
        assert found is not None
        assert found[VARIABLE] == "true"


@pytest.mark.parametrize(
    ("given", "own", "expected"),
    [("true", None, True), (" False ", True, False), ("", True, True), ("unset", None, None), ("odd", False, False)],
)
def test_a_flag_of_the_running_dagster_goes_first(given: str, own: bool | None, expected: bool | None) -> None:
    assert as_running({VARIABLE: given}, VARIABLE, own) is expected
    assert as_running(None, VARIABLE, own) is own


def test_doctor_tells_the_flags_of_the_running_dagster(terminal: Terminal) -> None:
    del terminal
    running = {VARIABLE: "true", "PUBLISHER_REDIS_BUFFER_ENABLED": "true", "STAGES_FETCH_ENABLED": "false"}
    told = {found.rule: found.what for found in flag_findings(Settings(None), {}, running)}
    assert told["flags.queues"] == "by priority: parser; buffer before Kafka: on"
    assert "fetch" in told["flags.workers"]


def test_draining_back_is_refused_while_the_running_dagster_fills_the_queue(home: Path) -> None:
    with (
        member(home, *CODE_SERVER, **{VARIABLE: "true"}),
        pytest.raises(click.ClickException, match="parser_intake is on"),
    ):
        refuse_while_on(Settings(None), Stage.PARSER)
    refuse_while_on(Settings(None), Stage.PARSER)
