"""Checks on those who work: the worker runs of each stage, and the intakes of stages that work by priority.

What somebody has switched off doesn't count as missing, so toggles are asked; only then, since each costs a query.
"""

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import queue_key, topic_key
from issuetracker_dagster.defs.flags import (
    RunOrTick,
    intake_sensor_name,
    intake_toggle,
    stage_toggle,
    worker_sensor_name,
)
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level, Limits
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.workers import modes_of_workers

WORKERS, INTAKE = "workers", "intake"


class WorkersState(msgspec.Struct, frozen=True, kw_only=True):
    """Worker runs of a stage that give signs of life, against its slots. `waiting` messages is asked for only when some
    are missing, and None when it isn't known."""

    stage: Stage
    alive: int
    wanted: int
    is_on: bool = True
    waiting: int | None = None


class IntakeState(msgspec.Struct, frozen=True, kw_only=True):
    """For how long the intake of a stage hasn't worked (None: it never has)."""

    stage: Stage
    is_on: bool
    silent_ms: int | None
    limits: Limits


def judge_workers(state: WorkersState) -> dg.AssetCheckResult:
    """Whether every slot of the stage has a living worker run, or nothing waits while it is switched off."""
    stage, missing = state.stage, state.wanted - state.alive
    sensor, variable = worker_sensor_name(stage), f"STAGES_{stage.name}_ENABLED"
    level = Level.WELL
    said = f"{state.alive} of {state.wanted} worker runs of {stage} give signs of life"
    if missing > 0 and state.is_on:
        level = Level.WARN if state.alive else Level.ERROR
        said += (
            f"; {_waiting(state.waiting)}. The ticks of the sensor {sensor} and the newest failed run of {stage}_shift "
            f"say why; a shift needs memory, and a place below max_concurrent_runs"
        )
    elif missing > 0:
        level = Level.WELL if state.waiting == 0 else Level.WARN
        said = (
            f"{stage} is switched off; {_waiting(state.waiting)}. The sensor {sensor} switches it on, unless "
            f"{variable}=false"
        )
    figures = {"alive": state.alive, "wanted": state.wanted}
    if state.waiting is not None:
        figures["waiting"] = state.waiting
    return result(topic_key(FACTS[stage].output), WORKERS, level, said, figures)


def _waiting(count: int | None) -> str:
    return "how many messages wait isn't known" if count is None else f"{count} messages wait"


def judge_intake(state: IntakeState) -> dg.AssetCheckResult:
    """Whether the queue of a stage that works by priority is being filled."""
    sensor, variable = intake_sensor_name(state.stage), f"{state.stage.name}_PRIORITY_QUEUE_ENABLED"
    level = Level.WELL
    if not state.is_on:
        said = f"{sensor} is off ({variable}): {state.stage} reads Kafka itself"
    elif state.silent_ms is None:
        level = Level.ERROR
        said = f"{sensor} is on and has never filled the queue: its ticks say why"
    else:
        level = state.limits.level(state.silent_ms)
        said = f"{sensor} last worked {about_duration(state.silent_ms)} ago"
        if level:
            said += (
                f". It is on, so nobody else reads the topic of {state.stage}: its ticks say why it doesn't work. "
                "When a server is out (the checks reachable) it goes on by itself once that is back; else, switched "
                "off, workers read Kafka themselves"
            )
    figures: dict[str, int | bool] = {"is_on": state.is_on}
    if state.silent_ms is not None:
        figures["silent_s"] = state.silent_ms // 1000
    return result(queue_key(state.stage), INTAKE, level, said, figures)


def workers_state(wiring: Wiring, context: RunOrTick, stage: Stage, *, kafka_answers: bool = True) -> WorkersState:
    """The state of the moment; raises `Unavailable`. A Kafka that is known to be out isn't asked what waits."""
    alive, wanted = modes_of_workers(wiring, stage).total(), wiring.settings.slots(stage.value)
    if alive >= wanted:
        return WorkersState(stage=stage, alive=alive, wanted=wanted)
    is_on = stage_toggle(context, stage, wiring.settings)()
    waiting = waiting_for(wiring, stage) if kafka_answers else None
    return WorkersState(stage=stage, alive=alive, wanted=wanted, is_on=is_on, waiting=waiting)


def waiting_for(wiring: Wiring, stage: Stage) -> int | None:
    """Messages that a stage has before it in Kafka and in its queue; None when Kafka can't tell. Raises `Unavailable`
    when Redis can't."""
    depth = wiring.queue(stage).depth().total if stage in QUEUED_STAGES else wiring.frontier.size()
    facts = FACTS[stage]
    try:
        return depth + sum(wiring.lag_of(facts.group, topic) or 0 for topic in facts.inputs)
    except TransientError:
        return None


def intake_state(wiring: Wiring, context: RunOrTick, stage: Stage) -> IntakeState:
    """The state of the moment; raises `Unavailable`."""
    check = wiring.settings.check
    limits = Limits(check.late_warn, check.late_error)
    beats, now_ms = wiring.heartbeats.alive(intake_sensor_name(stage)), wiring.heartbeats.now_ms()
    silent_ms = max(0, now_ms - max(beat.at_ms for beat in beats)) if beats else None
    worked = silent_ms is not None and limits.level(silent_ms) is Level.WELL
    is_on = worked or intake_toggle(context, stage, wiring.settings)()
    return IntakeState(stage=stage, is_on=is_on, silent_ms=silent_ms, limits=limits)


def work_checks() -> list[dg.AssetChecksDefinition]:
    """The checks of all stages."""
    return [*map(_workers_check, Stage), *map(_intake_check, QUEUED_STAGES)]


def _workers_check(stage: Stage) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=topic_key(FACTS[stage].output), name=WORKERS, description=judge_workers.__doc__)
    def check(context: dg.AssetCheckExecutionContext, wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge_workers(workers_state(wiring, context.op_execution_context, stage))

    return check


def _intake_check(stage: Stage) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=queue_key(stage), name=INTAKE, description=judge_intake.__doc__)
    def check(context: dg.AssetCheckExecutionContext, wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge_intake(intake_state(wiring, context.op_execution_context, stage))

    return check


def look_at_work(
    wiring: Wiring, context: RunOrTick, *, kafka_answers: bool
) -> tuple[list[dg.AssetCheckEvaluation], str]:
    """What the health probe tells about workers and intakes. Raises `Unavailable`."""
    workers = [workers_state(wiring, context, stage, kafka_answers=kafka_answers) for stage in Stage]
    results = [judge_workers(state) for state in workers]
    results += [judge_intake(intake_state(wiring, context, stage)) for stage in QUEUED_STAGES]
    alive, wanted = (sum(getattr(state, name) for state in workers) for name in ("alive", "wanted"))
    return [as_evaluation(each) for each in results], f"{alive} of {wanted} worker runs alive"
