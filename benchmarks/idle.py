"""A shift's start, and what everything costs when there is nothing to do.

A pipeline with every sensor on and all four shifts at work, and no message. The start goes from the moment at which
Dagster launches a shift's process to its first claim, for each stage that has a queue, with a message waiting.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from benchmarks.figures import Figure, Result, Say
from benchmarks.pipeline import QUEUES_ON, Pipeline, running
from benchmarks.processor import CODE_SERVER, DAEMON, SHIFTS, WEBSERVER, seconds_by_role, shift_seconds, since
from benchmarks.recorded_pages import recorded_pages, stored
from issuetracker_dagster.local.pipeline import dagster_home
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import ContentRef, Payload, encode_payload
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage
from tests.waiting import eventually

SETTLE_S, LOOK_S = 30.0, 60.0
START_TARGET_S, SHIFT_TARGET, DAGSTER_TARGET = 8.0, 2.0, 30.0
SETTINGS = {**QUEUES_ON, "PUBLISHER_REDIS_BUFFER_ENABLED": "true"}
"""Every toggle is on, the drain run's too."""
WITHIN_S = 120.0


def measure(say: Say) -> Result:
    """Starts of shifts, then processor time at rest."""
    say("starting the pipeline")
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), SETTINGS) as pipeline:
        pipeline.shifts(*Stage)
        figures = _at_rest(pipeline, say)
        starts = [_start_s(pipeline, stage, say) for stage in QUEUED_STAGES]
    start = Figure(
        name="a shift's start to first claim, slowest stage",
        value=max(starts),
        unit="s",
        target=START_TARGET_S,
        at_most=True,
    )
    named = ", ".join(f"{stage.value} {seconds:.1f} s" for stage, seconds in zip(QUEUED_STAGES, starts, strict=True))
    return Result(figures=(start, *figures), notes=(f"start to first claim: {named}",))


def _at_rest(pipeline: Pipeline, say: Say) -> Sequence[Figure]:
    say(f"{SETTLE_S:.0f} s to come to rest, then {LOOK_S:.0f} s of looking")
    time.sleep(SETTLE_S)
    roles, shifts, began = seconds_by_role(pipeline), shift_seconds(pipeline), time.monotonic()
    time.sleep(LOOK_S)
    share = 100 / (time.monotonic() - began)
    used = since(roles, seconds_by_role(pipeline))
    by_shift = since(shifts, shift_seconds(pipeline)).values()
    dagster_side = sum(used.get(role, 0.0) for role in (DAEMON, CODE_SERVER, WEBSERVER))

    def of_a_core(name: str, seconds: float, target: float | None = None) -> Figure:
        return Figure(name=name, value=seconds * share, unit="% of a core", target=target, at_most=True)

    return (
        of_a_core("an idle shift, the busiest", max(by_shift), SHIFT_TARGET),
        of_a_core("an idle shift, the median", statistics.median(by_shift)),
        of_a_core("Dagster at idle: daemon, code server, webserver", dagster_side, DAGSTER_TARGET),
        *(of_a_core(role, used.get(role, 0.0)) for role in (DAEMON, CODE_SERVER, WEBSERVER, SHIFTS)),
    )


def _start_s(pipeline: Pipeline, stage: Stage, say: Say) -> float:
    """Seconds from the launch of a new shift of that stage to its first claim."""
    say(f"ending the shift of {stage.value} and waiting for the next one's first claim")
    instance = dg.DagsterInstance.from_config(str(dagster_home(pipeline.home)))
    job = f"{stage.value}_shift"
    (before,) = instance.get_run_records(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.STARTED]), limit=1)
    pipeline.ui.terminate(before.dagster_run.run_id)
    eventually(lambda: _has_ended(instance, before.dagster_run.run_id), timeout_s=WITHIN_S, interval_s=0.2)
    _publish(pipeline, stage)
    queue = pipeline.wiring.queue(stage)
    eventually(lambda: queue.depth().ready, timeout_s=WITHIN_S)
    eventually(lambda: not queue.depth().ready, timeout_s=WITHIN_S)
    claimed_at = time.time()
    (after,) = instance.get_run_records(dg.RunsFilter(job_name=job), limit=1)
    assert after.dagster_run.run_id != before.dagster_run.run_id
    return claimed_at - _launched_at(instance, after.dagster_run.run_id)


def _has_ended(instance: dg.DagsterInstance, run_id: str) -> bool:
    run = instance.get_run_by_id(run_id)
    return run is not None and run.is_finished


def _launched_at(instance: dg.DagsterInstance, run_id: str) -> float:
    """When Dagster began to start the run's process."""
    (entry,) = instance.all_logs(run_id, of_type=dg.DagsterEventType.PIPELINE_STARTING)
    return entry.timestamp


def _publish(pipeline: Pipeline, stage: Stage) -> None:
    """One message for the stage; what becomes of it doesn't matter here."""
    payload: Payload = ContentRef(content_id=1_000_000, url="https://news.example.com/gone")
    if stage is Stage.PARSER:
        (payload,) = stored(recorded_pages(1), pipeline.wiring.stores.raw_contents)
    headers = Headers(root_id=f"bench-{stage.value}")
    message = Message(headers, headers.root_id.encode(), encode_payload(payload))
    pipeline.wiring.producer.publish([Outgoing.of(FACTS[stage].inputs[0], message)])
