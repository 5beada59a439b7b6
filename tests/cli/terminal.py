"""The `issuetracker` command as somebody types it, on a migrated SQLite of its own."""

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.cli.main import cli
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.settings.load import variables
from tests.migrated import sqlite_at


class Terminal:
    """A working folder with a database in it; no server is configured."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, _, _ in variables():
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("ISSUETRACKER_HOME", str(folder / "home"))
        url = sqlite_at(folder / "issuetracker.db")
        monkeypatch.setenv("DATABASE_URL", url)
        self.folder = folder
        self.stores = SqlStores(connect(url))

    def run(self, *words: str, typed: str = "") -> tuple[int, str]:
        """Exit code and all that was printed."""
        result = CliRunner().invoke(cli, list(words), input=typed)
        if isinstance(result.exception, IssueTrackerError):
            # As the entry point shows it.
            return 1, f"{result.output}Error: {result.exception}\n"
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    def does(self, *words: str, typed: str = "") -> str:
        """What a command that succeeds prints."""
        code, output = self.run(*words, typed=typed)
        assert code == 0, output
        return output

    def fails(self, *words: str, typed: str = "") -> str:
        """What a command that fails prints."""
        code, output = self.run(*words, typed=typed)
        assert code != 0, output
        return output

    def breaks_selectors(self, rule_id: int) -> None:
        """As somebody does who edits the table by hand."""
        with sqlite3.connect(self.folder / "issuetracker.db") as database:
            database.execute("UPDATE parser_rules SET selectors = '{oops' WHERE rule_id = ?", (rule_id,))

    def write(self, name: str, text: str) -> None:
        """Put a file into the folder."""
        (self.folder / name).write_text(text, encoding="utf-8")
