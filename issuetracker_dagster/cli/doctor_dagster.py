"""Rules of `issuetracker doctor` about Dagster: threads for its sensors, room for its runs, and how the flags stand."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from issuetracker_dagster.cli.running_flags import as_running
from issuetracker_dagster.defs.flags import DRAIN_SCHEDULE, intake_sensor_name, worker_sensor_name
from issuetracker_dagster.defs.toggle_states import dagster_home, toggle_states
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.local import family
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.upkeep import RELAY

LEAST_THREADS = 8
GRPC_VARIABLES = ("DAGSTER_GRPC_MAX_WORKERS", "DAGSTER_CODE_SERVER_MAX_WORKERS")
SPARE_RUNS = 5
"""Runs beside the shifts: drain, rules, redrive, purge and one that somebody launches."""


def dagster_findings(settings: Settings) -> Iterator[Finding]:
    """What is to say of the instance that DAGSTER_HOME names, or else of the one that `issuetracker dev` has."""
    folder = dagster_home(settings.home)
    if folder is None:
        yield warn(
            "dagster.home",
            "there is no Dagster instance yet: neither DAGSTER_HOME names one nor has `issuetracker dev` run here",
            "`issuetracker dev` makes one; for a deployment set DAGSTER_HOME to a folder with a copy of dagster.yaml",
        )
        return
    yield ok("dagster.home", f"the Dagster instance in {folder}")
    yield from instance_findings(_yaml(folder / "dagster.yaml"), settings)
    running = family.code_environment(settings.home)
    deployed = os.environ if os.environ.get("DAGSTER_HOME") else None
    # The next `dev` sets its variables itself: where nothing runs and no deployment is meant, there is nothing to mend.
    environment = running if running is not None else deployed
    if environment is not None:
        yield grpc_finding(environment)
    try:
        yield from flag_findings(settings, toggle_states(folder), running)
    except Unavailable as error:
        yield fail("dagster.storage", str(error), "start its database, or mend dagster.yaml")


def _yaml(file: Path) -> Mapping[str, Any]:
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def instance_findings(instance: Mapping[str, Any], settings: Settings) -> Iterator[Finding]:
    """`instance` is what dagster.yaml says."""
    sensors = instance.get("sensors") or {}
    threads = sensors.get("num_workers", 0) if sensors.get("use_threads") else 1
    if threads < LEAST_THREADS:
        yield warn(
            "dagster.sensor_threads",
            f"{threads} sensor ticks at a time: a slow intake holds up the retry relay and the supervisors",
            f"in dagster.yaml: `sensors: {{use_threads: true, num_workers: {LEAST_THREADS}}}` or more",
        )
    else:
        yield ok("dagster.sensor_threads", f"{threads} sensors tick beside each other")
    slots = sum(settings.slots(stage.value) for stage in Stage)
    runs = ((instance.get("concurrency") or {}).get("runs") or {}).get("max_concurrent_runs", 10)
    if 0 <= runs < slots + SPARE_RUNS:
        yield fail(
            "dagster.concurrent_runs",
            f"at most {runs} runs at a time, and {slots} slots keep one each: others wait for ever",
            f"`max_concurrent_runs: {slots + SPARE_RUNS}` or more in dagster.yaml, or smaller *_SLOTS",
        )
    else:
        yield ok("dagster.concurrent_runs", f"{runs} runs at a time for {slots} slots")


def grpc_finding(environment: Mapping[str, str]) -> Finding:
    """`environment` is that of the running Dagster where there is one."""
    few = []
    for name in GRPC_VARIABLES:
        text = environment.get(name, "")
        if not text.isdigit() or int(text) < 2 * LEAST_THREADS:
            few.append(name)
    if few:
        return warn(
            "dagster.grpc_workers",
            f"{' and '.join(few)} {'is' if len(few) == 1 else 'are'} unset or small: the code server has few threads, "
            "and sensors wait for each other",
            "set them to 24 where `dagster` is started; `issuetracker dev` does so by itself",
        )
    return ok("dagster.grpc_workers", "the code server has threads for all sensors")


def flag_findings(
    settings: Settings, toggles: Mapping[str, bool], running: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """`toggles` are those that somebody has moved, `running` the environment of a Dagster beside this command."""

    def is_on(name: str, variable: str, own: bool | None, *, unset: bool) -> bool:
        setting = as_running(running, variable, own)
        return setting is not False and toggles.get(name, unset if setting is None else setting)

    intakes = {
        stage: is_on(
            intake_sensor_name(stage),
            f"{stage.value.upper()}_PRIORITY_QUEUE_ENABLED",
            settings.queue(stage.value).priority_queue_enabled,
            unset=False,
        )
        for stage in QUEUED_STAGES
    }
    workers = {
        stage: is_on(
            worker_sensor_name(stage),
            f"STAGES_{stage.value.upper()}_ENABLED",
            settings.stage_enabled(stage.value),
            unset=True,
        )
        for stage in Stage
    }
    queues = [stage.value for stage, on in intakes.items() if on]
    off = [stage.value for stage, on in workers.items() if not on]
    buffer = is_on(
        DRAIN_SCHEDULE,
        "PUBLISHER_REDIS_BUFFER_ENABLED",
        settings.publish.publisher_redis_buffer_enabled,
        unset=False,
    )
    if not any(workers.values()):
        yield fail(
            "flags.workers", "the workers of all stages are off: nothing runs", "switch the sensors *_workers on"
        )
    elif off:
        yield warn(
            "flags.workers", f"workers are off: {', '.join(off)}; what comes for them waits", _switch_on("workers", off)
        )
    else:
        yield ok("flags.workers", "the workers of all stages are on")
    said = f"by priority: {', '.join(queues) or 'none'}; buffer before Kafka: {'on' if buffer else 'off'}"
    if queues and not toggles.get(RELAY, True):
        yield fail(
            "flags.relay",
            f"the sensor {RELAY} is off: retries wait, and the intakes of {', '.join(queues)} stop after two minutes",
            f"switch {RELAY} on",
        )
    elif not toggles.get(RELAY, True):
        yield warn("flags.relay", f"the sensor {RELAY} is off: retries wait", f"switch {RELAY} on")
    yield ok("flags.queues", said)


def _switch_on(kind: str, stages: list[str]) -> str:
    return f"switch on: {', '.join(f'{stage}_{kind}' for stage in stages)}, when that isn't meant"
