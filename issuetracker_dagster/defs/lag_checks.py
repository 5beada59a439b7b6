"""The check `lag` on each topic that a stage reads: whether its group keeps up."""

from collections.abc import Iterator, Mapping

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import lag_observations, topic_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.limits import Level, Limits, LimitsByBand
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import BAND_OF_TOPIC, FACTS, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring

CHECK = "lag"
READERS = {topic: facts.stage for facts in FACTS.values() for topic in facts.inputs}


class LagState(msgspec.Struct, frozen=True):
    """How many messages of a topic the stage that reads it hasn't read."""

    topic: Topic
    stage: Stage
    lag: int
    limits: Limits


def judge_lag(state: LagState) -> dg.AssetCheckResult:
    """Whether the stage that reads the topic keeps up with it."""
    level = state.limits.level(state.lag)
    said = f"{state.lag} messages unread by the group {FACTS[state.stage].group} of {state.stage}"
    if level is not Level.WELL:
        intake = "" if state.stage is Stage.FETCH else f", those of {state.stage}_intake when it works by priority"
        said += (
            f", more than {state.limits.error if level is Level.ERROR else state.limits.warn:.0f}. "
            f"`issuetracker top` shows whether {state.stage} is worked on; the ticks of {state.stage}_workers{intake} "
            f"say why not. When it is, it needs more workers ({state.stage.name}_SLOTS)"
        )
    return result(topic_key(state.topic), CHECK, level, said, {"lag": state.lag})


def lag_states(wiring: Wiring, lags: Mapping[Topic, int]) -> Iterator[LagState]:
    """These lags with their limits."""
    check = wiring.settings.check
    limits = LimitsByBand(check.lag_warn, check.lag_error)
    for topic, lag in lags.items():
        yield LagState(topic, READERS[topic], lag, limits.of(BAND_OF_TOPIC.get(topic, Priority.NORMAL)))


def lag_checks() -> list[dg.AssetChecksDefinition]:
    """The check of each topic."""
    return [_check(topic) for topic in READERS]


def _check(asked: Topic) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=topic_key(asked), name=CHECK, description=judge_lag.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return next(judge_lag(state) for state in lag_states(wiring, {asked: wiring.lags()[asked]}))

    return check


def look_at_lags(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about topics. Raises `LagUnknown`."""
    lags = wiring.lags()
    judged = [as_evaluation(judge_lag(state)) for state in lag_states(wiring, lags)]
    return [*lag_observations(lags), *judged], f"{sum(lags.values())} messages unread in Kafka"
