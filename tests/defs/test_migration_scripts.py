"""Opening Dagster's instance again reads none of its migration scripts."""

from pathlib import Path

import dagster as dg
import pytest

from issuetracker_dagster.defs.migration_scripts import read_migration_scripts_once


def test_an_instance_that_is_opened_again_reads_no_migration_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_migration_scripts_once()
    with dg.DagsterInstance.from_config(str(_home(tmp_path))) as instance:
        ref = instance.get_ref()
        _open(ref)
        read: list[str] = []

        def load(path: str, *_: object) -> None:
            read.append(path)

        monkeypatch.setattr("alembic.util.load_python_file", load)
        _open(ref)

    assert read == []


def test_the_schema_is_still_compared_with_the_newest_one(tmp_path: Path) -> None:
    read_migration_scripts_once()

    with dg.DagsterInstance.from_config(str(_home(tmp_path))) as instance:
        here, newest = instance.run_storage.alembic_version() or (None, None)

    assert here == newest
    assert newest


def _open(ref: object) -> None:
    with dg.DagsterInstance.from_ref(ref) as again:  # type: ignore[arg-type]
        assert again.run_storage
        assert again.schedule_storage


def _home(folder: Path) -> Path:
    (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    return folder
