"""What the command says, and how it ends, when something was typed or set wrongly."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from issuetracker_dagster.cli.main import main

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISSUETRACKER_HOME", str(tmp_path / "home"))
    for name in ("KAFKA_BOOTSTRAP_SERVERS", "REDIS_URL", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def command(*words: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["issuetracker", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return ended.value.code, capsys.readouterr().err

    return command


@pytest.mark.parametrize("command", ["upgrade", "current"])
def test_a_home_that_is_no_folder_is_named_and_not_a_traceback(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ISSUETRACKER_HOME", str(tmp_path / "file" / "home"))
    code, said = run("db", command)
    assert code == 2
    assert "ISSUETRACKER_HOME" in said


@pytest.mark.parametrize("every", ["0s", "0", "soon"])
def test_an_interval_that_is_none_is_a_wrong_argument(run: Run, every: str) -> None:
    code, said = run("seeds", "add", "https://news.example.com/feed", "--source", "x", "--every", every)
    assert code == 2
    assert "--every" in said


def test_without_a_schema_the_command_that_makes_it_is_named(run: Run) -> None:
    code, said = run("report")
    assert code == 1
    assert "issuetracker db upgrade" in said


def test_a_command_that_succeeds_but_has_bad_news_ends_with_its_code(run: Run) -> None:
    assert run("trace", "nobody")[0] == 1
    assert run("doctor", "-q")[0] == 1
    assert run("settings")[0] == 0
    assert run("trace", "--help")[0] == 0


def test_an_address_that_is_none_is_a_wrong_argument(run: Run) -> None:
    for addr in ("off", "nowhere"):
        code, said = run("metrics", "--addr", addr)
        assert code == 2
        assert "127.0.0.1:9464" in said


def test_help_waits_for_no_client_of_a_server() -> None:
    asked = "import sys; from issuetracker_dagster.cli.main import cli; cli(['--help'], standalone_mode=False)"
    listed = "print(sorted({'kafka', 'redis', 'sqlalchemy', 'dagster'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", f"{asked}; {listed}"], capture_output=True, text=True, check=True)
    assert "explain" in done.stdout.lower()
    assert done.stdout.splitlines()[-1] == "[]"
