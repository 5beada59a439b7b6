"""What the checkup of servers says when one answers as none that is known; see `test_doctor` for everything else."""

import pytest

from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.checkup import ask
from tests.cli.terminal import Terminal


def test_a_server_that_tells_what_nobody_understands_is_a_finding_and_hides_no_other(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def facts(*_: object, **__: object) -> None:
        raise ValueError("redis://:secret@host")

    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(ask, "connect", facts)
    found = {finding.rule: finding for finding in ask.server_findings(Settings(env_file=None))}
    said = found["redis.reachable"]
    assert said.what == "what it says of itself isn't understood (ValueError)"
    assert found["database.schema"].level.value == "ok"
