"""What Dagster's own storage grows by, and what it comes to when the default purge keeps it.

On a demo at its default settings: every sensor and schedule on, pages flowing. Days are computed from what it grew by:
all that a purge hasn't taken yet is there. A shift lives for longer than the look, or nearly so: how many of them begin
in an hour is taken from the settings.
"""

import contextlib
import math
import re
import sqlite3
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.figures import Figure, Result, Say
from benchmarks.pipeline import running
from issuetracker_dagster.definitions import defs
from issuetracker_dagster.local.pipeline import dagster_home
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings

SETTLE_S, LOOK_S, EVERY_S = 180.0, 2_400.0, 60.0
TARGET_MB = 500.0
SKIPPED_KEPT_H = 24.0
"""`retention` in dagster.yaml; other ticks and everything else are kept by the PURGE_* settings."""
BETWEEN_PURGES_H = 1.0
GRID_S = 5
"""On which Dagster looks for due sensors."""
SETTINGS = {"LOG_LEVEL": "info"}

TICKS, RUNLESS, INDEX, RUNS = "ticks", "events of no run", "index of events", "runs and job snapshots"
RUN_FILES, LOGS, WRITE_AHEAD = "files of runs", "logs of runs and ticks", "write-ahead logs"
DATABASES = {
    TICKS: "schedules/schedules.db",
    RUNLESS: "history/runs/.db",
    INDEX: "history/runs/index.db",
    RUNS: "history/runs.db",
}
_OF_A_RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.db.*")


def measure(say: Say) -> Result:
    """Growth an hour by part, and the whole after days."""
    settings = Settings(env_file=None)
    say("starting a demo")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), SETTINGS, command="demo") as pipeline:
        home = dagster_home(pipeline.home)
        _wait(SETTLE_S)
        began_at = time.time()
        first = last = sizes(home)
        while (passed_s := time.time() - began_at) < LOOK_S:
            say(f"{sum(last.values()) / 1e6:.2f} MB: {', '.join(f'{name} {size:,}' for name, size in last.items())}")
            _wait(min(EVERY_S, LOOK_S - passed_s))
            last = sizes(home)
        hours = (time.time() - began_at) / 3600
        ticks, runs = _ticks_since(home, began_at), _runs_since(home, began_at)
        a_file = last[RUN_FILES] / _runs_in_all(home)
    kept_h = _kept_h(ticks, settings)
    grown = {name: (last[name] - first[name]) / hours for name in first}
    shifts = sum(count for job, count in runs.items() if job.endswith("_shift"))
    grown[RUN_FILES] += (_shifts_an_hour(settings) - shifts / hours) * a_file
    there = {name: first[name] + grown[name] * kept_h[name] for name in first}
    # These come and go: as large as the largest that was seen.
    there[WRITE_AHEAD] = max(first[WRITE_AHEAD], last[WRITE_AHEAD])
    fastest = {**there, TICKS: there[TICKS] * _most_ticks_an_hour() * hours / sum(ticks.values())}
    return Result(figures=_figures(grown, there, fastest), notes=_notes(ticks, runs, hours))


def sizes(home: Path) -> Mapping[str, int]:
    """Bytes by part. Of a database those of its pages in use, whether they are in its file yet or in its log."""
    found = {name: _used(home / path) for name, path in DATABASES.items()}
    files = _files(home / "history" / "runs")
    found[RUN_FILES] = sum(size for path, size in files.items() if _OF_A_RUN.fullmatch(path.name))
    found[LOGS] = sum(_files(home / "storage").values())
    logs = (home / f"{path}{end}" for path in DATABASES.values() for end in ("-wal", "-shm"))
    found[WRITE_AHEAD] = sum(path.stat().st_size for path in logs if path.exists())
    return found


def _used(file: Path) -> int:
    with _reading(file) as connection:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def _files(folder: Path) -> Mapping[Path, int]:
    found: dict[Path, int] = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # a log of SQLite that goes with its last connection
            found[path] = path.stat().st_size
    return found


def _ticks_since(home: Path, began_at: float) -> Mapping[str, int]:
    """Ticks by their status."""
    with _reading(home / DATABASES[TICKS]) as connection:
        query = "SELECT status, count(*) FROM job_ticks WHERE timestamp >= datetime(?, 'unixepoch') GROUP BY status"
        return dict(connection.execute(query, (began_at,)).fetchall())


def _runs_since(home: Path, began_at: float) -> Mapping[str, int]:
    """Runs that began, by job."""
    with _reading(home / DATABASES[RUNS]) as connection:
        query = "SELECT pipeline_name, count(*) FROM runs WHERE start_time >= ? GROUP BY pipeline_name ORDER BY 1"
        return dict(connection.execute(query, (began_at,)).fetchall())


def _runs_in_all(home: Path) -> int:
    with _reading(home / DATABASES[RUNS]) as connection:
        return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])


def _shifts_an_hour(settings: Settings) -> float:
    return sum(settings.slots(stage.value) for stage in Stage) * 3.6e6 / settings.shift.shift_duration


def _reading(file: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=30))


def _kept_h(ticks: Mapping[str, int], settings: Settings) -> Mapping[str, float]:
    """For how long each part is kept, at the most, that is right before a purge."""
    ticks_h, runs_h = settings.purge.ticks_after / 3.6e6, settings.purge.runs_after / 3.6e6
    skipped = ticks.get("SKIPPED", 0) / max(1, sum(ticks.values()))
    of_ticks = skipped * min(SKIPPED_KEPT_H, ticks_h) + (1 - skipped) * ticks_h
    kept = {TICKS: of_ticks, LOGS: max(ticks_h, runs_h), WRITE_AHEAD: 0.0}
    return {name: kept.get(name, runs_h) + BETWEEN_PURGES_H for name in (*DATABASES, RUN_FILES, LOGS, WRITE_AHEAD)}


def _most_ticks_an_hour() -> float:
    """On a machine that has time for all of them: sensors on Dagster's grid, schedules of once a minute or an hour."""
    found = defs.get_repository_def()
    sensors = (GRID_S * math.ceil((sensor.minimum_interval_seconds or 30) / GRID_S) for sensor in found.sensor_defs)
    schedules = (60 if str(schedule.cron_schedule).startswith("* ") else 1 for schedule in found.schedule_defs)
    return sum(3_600 / seconds for seconds in sensors) + sum(schedules)


def _figures(
    grown: Mapping[str, float], there: Mapping[str, float], fastest: Mapping[str, float]
) -> tuple[Figure, ...]:
    def of(name: str, size: float, target: float | None = None) -> Figure:
        return Figure(name=name, value=size / 1e6, unit="MB", target=target, at_most=True)

    return (
        of("Dagster's storage after days, each sensor at its fastest", sum(fastest.values()), TARGET_MB),
        of("Dagster's storage after days, as fast as seen", sum(there.values())),
        *(of(f"{name}, an hour", size) for name, size in grown.items()),
        *(of(f"{name}, after days", size) for name, size in there.items()),
    )


def _notes(ticks: Mapping[str, int], runs: Mapping[str, int], hours: float) -> tuple[str, ...]:
    return (
        f"watched for {hours * 60:.0f} min",
        "ticks an hour: " + ", ".join(f"{count / hours:,.0f} {status.lower()}" for status, count in ticks.items()),
        "runs begun: " + (", ".join(f"{count} of {job}" for job, count in runs.items()) or "none"),
    )


def _wait(seconds: float) -> None:
    time.sleep(max(0.0, seconds))
