"""Migrated, empty SQLite files; migrating anew for each test would take most of the suite's time."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from issuetracker_dagster.adapters.sql.migrate import upgrade


def sqlite_at(path: Path) -> str:
    """The URL of a migrated, empty database that is written to `path`, as `upgrade` makes it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_template())
    return f"sqlite:///{path}"


@cache
def _template() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "template.db"
        upgrade(f"sqlite:///{path}")
        return path.read_bytes()
