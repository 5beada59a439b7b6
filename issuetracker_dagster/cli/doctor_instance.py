"""Rules of `issuetracker doctor` about a Dagster instance: threads for its sensors, room for its runs, a daemon that
lives. What it is configured to is asked of Dagster, which takes it from several places of dagster.yaml."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
import msgspec
import yaml

from issuetracker_dagster.errors import ConfigError, Unavailable
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings

LEAST_THREADS = 8
SPARE_RUNS = 5
"""Runs beside the shifts: drain, rules, redrive, purge and one that somebody launches."""
SILENT_AFTER_S = 300.0
"""A daemon that lives says so every half minute."""
_DAEMONS = {
    "SENSOR": "no sensor ticks, and no check looks",
    "SCHEDULER": "no schedule ticks",
    "QUEUED_RUN_COORDINATOR": "no run starts",
}


class InstanceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What Dagster makes of its dagster.yaml, and how long ago each part of its daemon gave a sign of life.

    `concurrent_runs` is None without a limit, a part's silence when it never ran. Parts that this instance doesn't
    need are left out.
    """

    sensor_threads: int
    concurrent_runs: int | None
    silent_s: Mapping[str, float | None]


def instance_facts(folder: Path, now_s: float) -> InstanceFacts:
    """The facts of the instance in that folder. Raises `ConfigError` for a dagster.yaml that Dagster refuses,
    `Unavailable` when its storage is out."""
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            return _facts(instance, now_s)
    except (dg.DagsterInvalidConfigError, yaml.YAMLError) as error:
        raise ConfigError(f"Dagster refuses {folder / 'dagster.yaml'}: {_in_one_line(error)}") from error
    except Exception as error:  # its storages say in many ways that they are out
        raise Unavailable(f"Dagster's storage in {folder} (DAGSTER_HOME) can't be read: {error}") from error


def _facts(instance: dg.DagsterInstance, now_s: float) -> InstanceFacts:
    sensors = instance.get_settings("sensors") or {}
    queue = instance.get_concurrency_config().run_queue_config
    limit = queue.max_concurrent_runs if queue else -1
    beats = instance.get_daemon_heartbeats()
    needed = [name for name in _DAEMONS if name in instance.get_required_daemon_types()]
    return InstanceFacts(
        sensor_threads=sensors.get("num_workers", 0) if sensors.get("use_threads") else 1,
        concurrent_runs=limit if limit >= 0 else None,
        silent_s={name: now_s - beats[name].timestamp if name in beats else None for name in needed},
    )


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def instance_findings(facts: InstanceFacts, settings: Settings) -> Iterator[Finding]:
    """What is to say of its configuration."""
    threads = facts.sensor_threads
    if threads < LEAST_THREADS:
        yield warn(
            "dagster.sensor_threads",
            f"{threads} sensor ticks at a time: a slow intake holds up the retry relay and the supervisors",
            f"in dagster.yaml: `sensors: {{use_threads: true, num_workers: {LEAST_THREADS}}}` or more",
        )
    else:
        yield ok("dagster.sensor_threads", f"{threads} sensors tick beside each other")
    slots = sum(settings.slots(stage.value) for stage in Stage)
    runs = facts.concurrent_runs
    if runs is not None and runs < slots + SPARE_RUNS:
        yield fail(
            "dagster.concurrent_runs",
            f"at most {runs} runs at a time, and {slots} slots keep one each: others wait for ever",
            f"`max_concurrent_runs: {slots + SPARE_RUNS}` or more in dagster.yaml, or smaller *_SLOTS",
        )
    else:
        most = "any number of" if runs is None else runs
        yield ok("dagster.concurrent_runs", f"{most} runs at a time for {slots} slots")


def daemon_finding(silent_s: Mapping[str, float | None]) -> Finding:
    """Of an instance that is meant to run."""
    fix = "start `dagster-daemon run` (`issuetracker dev` starts it by itself); its log says why it ended"
    if all(silent is None for silent in silent_s.values()):
        return warn("dagster.daemon", "no daemon has run here yet: nothing ticks, and no check looks", fix)
    late = {name: silent for name, silent in silent_s.items() if silent is None or silent > SILENT_AFTER_S}
    if not late:
        return ok("dagster.daemon", "the daemon lives")
    longest_s = max(silent or 0 for silent in late.values())
    since = f" for {about_duration(int(longest_s * 1000))}" if longest_s else ""
    return fail("dagster.daemon", f"the daemon is silent{since}: {'; '.join(_DAEMONS[name] for name in late)}", fix)
