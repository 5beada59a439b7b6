"""Rules of `issuetracker doctor` about Dagster: threads of its code server, and how flags and upkeep stand.

Its instance is judged in `doctor_instance`.
"""

import os
import time
from collections.abc import Iterator, Mapping

from issuetracker_dagster.cli.doctor_instance import (
    LEAST_THREADS,
    daemon_finding,
    instance_facts,
    instance_findings,
)
from issuetracker_dagster.cli.running_flags import as_running
from issuetracker_dagster.defs.flags import DRAIN_SCHEDULE, intake_sensor_name, worker_sensor_name
from issuetracker_dagster.defs.toggle_states import dagster_home, toggle_states
from issuetracker_dagster.errors import ConfigError, Unavailable
from issuetracker_dagster.local import family
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.upkeep import RELAY

GRPC_VARIABLES = ("DAGSTER_GRPC_MAX_WORKERS", "DAGSTER_CODE_SERVER_MAX_WORKERS")
UPKEEP = {
    "health_probe": "no check looks any more, all stay as they were",
    "dlq_index": "new dead letters are counted and redriven by nobody",
    "refresh_priority_rules": "changed rules aren't taken over",
    "purge_history": "old pages and Dagster's own tables grow without end",
    "seed_scheduler": "seeds aren't published",
    "issue_digest": "no digest is made",
}
"""Sensors and schedules that are on at first, beside workers and relay, and what is amiss without them."""


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
    running = family.code_environment(settings.home)
    deployed = os.environ if os.environ.get("DAGSTER_HOME") else None
    # The next `dev` sets its variables itself: where nothing runs and no deployment is meant, there is nothing to mend.
    environment = running if running is not None else deployed
    if environment is not None:
        yield grpc_finding(environment)
    try:
        facts = instance_facts(folder, time.time())
        yield from instance_findings(facts, settings)
        if environment is not None:
            yield daemon_finding(facts.silent_s)
        toggles = toggle_states(folder)
        yield from flag_findings(settings, toggles, running)
        yield from upkeep_findings(settings, toggles, running)
    except ConfigError as error:
        yield fail("dagster.config", str(error), "mend dagster.yaml: Dagster doesn't start with it")
    except Unavailable as error:
        yield fail("dagster.storage", str(error), "start its database, or mend dagster.yaml")


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
        return _is_on(toggles, name, as_running(running, variable, own), unset=unset)

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


def upkeep_findings(
    settings: Settings, toggles: Mapping[str, bool], running: Mapping[str, str] | None = None
) -> Iterator[Finding]:
    """The same of what keeps the pipeline in order without taking part in it."""
    scheduler = as_running(running, "STAGES_SCHEDULER_ENABLED", settings.stage_enabled("scheduler"))
    off = [
        name
        for name in UPKEEP
        if not _is_on(toggles, name, scheduler if name == "seed_scheduler" else None, unset=True)
    ]
    for name in off:
        yield warn("flags.upkeep", f"{name} is off: {UPKEEP[name]}", f"switch {name} on, when that isn't meant")
    if not off:
        yield ok("flags.upkeep", f"{', '.join(UPKEEP)} are on")


def _is_on(toggles: Mapping[str, bool], name: str, setting: bool | None, *, unset: bool) -> bool:
    return setting is not False and toggles.get(name, unset if setting is None else setting)


def _switch_on(kind: str, stages: list[str]) -> str:
    return f"switch on: {', '.join(f'{stage}_{kind}' for stage in stages)}, when that isn't meant"
