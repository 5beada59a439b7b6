"""Finished runs with all their files: rows, events, the SQLite file of each run, captured logs.

Never a run that isn't finished. Files whose run is gone (deleted in the UI, or by a purge that was killed between its
two steps) are found by their names.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager

from issuetracker_dagster.defs.dagster_history import moment, storage_errors
from issuetracker_dagster.model.history import Removed

FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
RUNS_AT_ONCE = 20
FILES_AT_ONCE = 200
_RUN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOGS = (".err", ".out", ".complete", ".partial")


class RunSweep:
    """Runs that ended long ago."""

    name = "runs"

    def __init__(self, instance: dg.DagsterInstance, after_ms: int) -> None:
        self._instance = instance
        self._after_ms = after_ms

    def count(self, now_ms: int) -> Removed:
        found = Removed()
        for run_id in [record.dagster_run.run_id for record in self._old(now_ms, limit=None)]:
            found += Removed(rows=1) + _sizes(run_files(self._instance, run_id))
        return found

    def step(self, now_ms: int) -> Removed | None:
        records = self._old(now_ms, limit=RUNS_AT_ONCE)
        if not records:
            return None
        found = Removed()
        for record in records:
            run_id = record.dagster_run.run_id
            files = list(run_files(self._instance, run_id))
            found += Removed(rows=1) + _sizes(files)
            with storage_errors():
                self._instance.delete_run(run_id)
            remove_files(self._instance, run_id, files)
        return found

    def _old(self, now_ms: int, *, limit: int | None) -> list[dg.RunRecord]:
        before = moment(now_ms - self._after_ms)
        wanted = dg.RunsFilter(statuses=FINISHED, updated_before=before)
        with storage_errors():
            records = self._instance.get_run_records(wanted, limit=limit, ascending=True)
        # The filter goes by times that PostgreSQL writes in the zone of its server: west of Greenwich, hours too old.
        return [record for record in records if (record.end_time or 0) < before.timestamp()]


class OrphanSweep:
    """Files of runs that are gone, and logs of ticks, by the time of their last change."""

    name = "files"

    def __init__(self, instance: dg.DagsterInstance, after_ms: int, tick_logs_after_ms: int) -> None:
        self._instance = instance
        self._after_ms = after_ms
        self._tick_logs_after_ms = tick_logs_after_ms
        self._left: Iterator[list[Path]] | None = None

    def count(self, now_ms: int) -> Removed:
        return sum((_sizes(files) for files in self._batches(now_ms)), Removed())

    def step(self, now_ms: int) -> Removed | None:
        if self._left is None:
            self._left = self._batches(now_ms)
        files = next(self._left, None)
        if files is None:
            return None
        found = _sizes(files)
        for file in files:
            file.unlink(missing_ok=True)
        for folder in {file.parent for file in files}:
            _remove_if_empty(folder)
        return found

    def _batches(self, now_ms: int) -> Iterator[list[Path]]:
        batch: list[Path] = []
        for file in self._old(now_ms):
            batch.append(file)
            if len(batch) == FILES_AT_ONCE:
                yield batch
                batch = []
        if batch:
            yield batch

    def _old(self, now_ms: int) -> Iterator[Path]:
        runs_before_s, ticks_before_s = (now_ms - self._after_ms) / 1000, (now_ms - self._tick_logs_after_ms) / 1000
        base = logs_folder(self._instance)
        for run_id in sorted(self._orphans(base)):
            yield from (file for file in run_files(self._instance, run_id) if _changed_s(file) < runs_before_s)
        for file in _files_below(base):
            is_of_a_run = base and _RUN_ID.fullmatch(file.relative_to(base).parts[0])
            if not is_of_a_run and file.suffix in _LOGS and _changed_s(file) < ticks_before_s:
                yield file

    def _orphans(self, base: Path | None) -> set[str]:
        """Ids that files are named by and no run has."""
        shards = shards_folder(self._instance)
        found = {path.name.partition(".db")[0] for path in shards.glob("*.db*")} if shards else set()
        found |= {path.name for path in base.iterdir()} if base and base.exists() else set()
        named = sorted(name for name in found if _RUN_ID.fullmatch(name))
        known: set[str] = set()
        for start in range(0, len(named), FILES_AT_ONCE):
            some = named[start : start + FILES_AT_ONCE]
            with storage_errors():
                known |= {run.run_id for run in self._instance.get_runs(dg.RunsFilter(run_ids=some))}
        return set(named) - known


def run_files(instance: dg.DagsterInstance, run_id: str) -> Iterator[Path]:
    """Every file that a run has left on this machine."""
    shards, logs = shards_folder(instance), logs_folder(instance)
    if shards is not None:
        yield from (path for path in (shards / f"{run_id}.db{end}" for end in ("", "-wal", "-shm")) if path.exists())
    if logs is not None:
        yield from _files_below(logs / run_id)


def remove_files(instance: dg.DagsterInstance, run_id: str, files: Iterable[Path]) -> None:
    """Remove a run's files, those of a log store elsewhere included."""
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    for file in files:
        file.unlink(missing_ok=True)


def shards_folder(instance: dg.DagsterInstance) -> Path | None:
    """Where SQLite storage has a file for each run; None for any other storage."""
    storage: Any = instance.event_log_storage
    return Path(storage.path_for_shard("index")).parent if storage.is_run_sharded else None


def logs_folder(instance: dg.DagsterInstance) -> Path | None:
    """Where captured output of runs and ticks is; None when it isn't on this machine."""
    manager = instance.compute_log_manager
    return Path(manager._base_dir) if isinstance(manager, LocalComputeLogManager) else None


def sqlite_files(instance: dg.DagsterInstance) -> list[Path]:
    """The files of Dagster's storage that grow and shrink; none for another storage."""
    shards = shards_folder(instance)
    if shards is None:
        return []
    home = shards.parent.parent
    return [shards / "index.db", shards / ".db", shards.parent / "runs.db", home / "schedules" / "schedules.db"]


def _files_below(folder: Path | None) -> list[Path]:
    """In the order of their names. What somebody else removes meanwhile is passed over."""
    # Not by rglob, which ends with an error at a folder that has just gone.
    found = os.walk(folder) if folder else ()
    return sorted(Path(place, name) for place, _, names in found for name in names)


def _sizes(files: Iterable[Path]) -> Removed:
    sizes = [found.st_size for file in files if (found := _facts(file))]
    return Removed(files=len(sizes), bytes=sum(sizes))


def _changed_s(file: Path) -> float:
    found = _facts(file)
    return found.st_mtime if found else float("inf")


def _facts(file: Path) -> os.stat_result | None:
    """None when it is gone: Dagster's own files come and go, and a purge from a terminal may be at work, too."""
    try:
        return file.stat()
    except FileNotFoundError:
        return None


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return  # somebody has put a file there
