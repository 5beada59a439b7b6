"""The checks `lag` and `age` on each topic that a stage reads: whether its group keeps up, by number and by time."""

from collections.abc import Iterator, Mapping

import dagster as dg
import msgspec

from issuetracker_dagster.defs.assets import lag_observations, topic_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level, Limits, LimitsByBand
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import BAND_OF_TOPIC, FACTS, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring

LAG, AGE = "lag", "age"
OLD_SHARE, VERY_OLD_SHARE = 0.5, 0.9
"""Shares of `KAFKA_RETENTION` that no age limit exceeds: such a message will be removed unless work speeds up."""
READERS = {topic: facts.stage for facts in FACTS.values() for topic in facts.inputs}


class LagState(msgspec.Struct, frozen=True):
    """How many messages of a topic the stage that reads it hasn't read."""

    topic: Topic
    stage: Stage
    lag: int
    limits: Limits


class AgeState(msgspec.Struct, frozen=True):
    """For how long the oldest message of a topic has waited that the stage which reads it hasn't read (0: none)."""

    topic: Topic
    stage: Stage
    age_ms: int
    limits: Limits


def judge_lag(state: LagState) -> dg.AssetCheckResult:
    """Whether the stage that reads the topic keeps up with it."""
    level = state.limits.level(state.lag)
    said = f"{state.lag} messages unread by the group {FACTS[state.stage].group} of {state.stage}"
    if level is not Level.WELL:
        most = state.limits.error if level is Level.ERROR else state.limits.warn
        said += f", more than {most:.0f}. {_who_reads(state.stage)}"
    return result(topic_key(state.topic), LAG, level, said, {"lag": state.lag})


def judge_missing(topic: Topic) -> dg.AssetCheckResult:
    """What is told of a topic that isn't there while others are."""
    said = (
        f"there is no topic of {topic.value}, though there are others: who removed it removed what was in it. A worker "
        "run that begins makes it anew"
    )
    return result(topic_key(topic), LAG, Level.ERROR, said, {"lag": 0})


def judge_age(state: AgeState) -> dg.AssetCheckResult:
    """Whether the stage that reads the topic gets to the oldest message in time."""
    level = state.limits.level(state.age_ms // 1000 * 1000)
    said = f"all is read by the group {FACTS[state.stage].group} of {state.stage}"
    if state.age_ms:
        said = f"the oldest message that {state.stage} hasn't read has waited {about_duration(state.age_ms)}"
    if level is not Level.WELL:
        said += ", longer than CHECK_AGE_* or KAFKA_RETENTION allow. "
        said += _who_reads(state.stage, BAND_OF_TOPIC.get(state.topic))
    return result(topic_key(state.topic), AGE, level, said, {"oldest_s": state.age_ms // 1000})


def _who_reads(stage: Stage, band: Priority | None = None) -> str:
    intake = "" if stage is Stage.FETCH else f", those of {stage}_intake when it works by priority,"
    more = f"{stage.name}_SLOTS" if band is None else f"FETCH_SLOTS, or FETCH_{band.name}_WORKER_COUNT"
    return (
        f"`issuetracker top` shows whether {stage} is worked on; the ticks of {stage}_workers{intake} say why not. "
        f"When it is, it needs more workers ({more})"
    )


def lag_states(wiring: Wiring, lags: Mapping[Topic, int]) -> Iterator[LagState]:
    """These lags with their limits."""
    check = wiring.settings.check
    limits = LimitsByBand(check.lag_warn, check.lag_error)
    for topic, lag in lags.items():
        yield LagState(topic, READERS[topic], lag, limits.of(BAND_OF_TOPIC.get(topic, Priority.NORMAL)))


def age_state(wiring: Wiring, topic: Topic, *, is_read: bool = False) -> AgeState:
    """The state of the moment, without a question when all is known to be read; raises `LagUnknown`."""
    check, kept_ms, stage = wiring.settings.check, wiring.settings.kafka.retention, READERS[topic]
    band = BAND_OF_TOPIC.get(topic, Priority.NORMAL)
    limits = LimitsByBand(check.age_warn, check.age_error).of(band)
    since_ms = None if is_read else wiring.oldest.unread_since_ms(FACTS[stage].group, topic.value)
    age_ms = 0 if since_ms is None else max(0, wiring.clock.now_ms() - since_ms)
    return AgeState(topic, stage, age_ms, limits.at_most(Limits(kept_ms * OLD_SHARE, kept_ms * VERY_OLD_SHARE)))


def lag_checks() -> list[dg.AssetChecksDefinition]:
    """The checks of each topic."""
    return [check for topic in READERS for check in (_lag_check(topic), _age_check(topic))]


def _lag_check(asked: Topic) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=topic_key(asked), name=LAG, description=judge_lag.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        lag = wiring.lag_of(FACTS[READERS[asked]].group, asked)
        if lag is None:
            return judge_missing(asked)
        return next(judge_lag(state) for state in lag_states(wiring, {asked: lag}))

    return check


def _age_check(asked: Topic) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=topic_key(asked), name=AGE, description=judge_age.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge_age(age_state(wiring, asked))

    return check


def look_at_lags(
    wiring: Wiring, lags: Mapping[Topic, int]
) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about topics; before the first worker made any, nothing."""
    if not lags:
        return [], "no topics yet"
    results = [judge_lag(state) for state in lag_states(wiring, lags)]
    results += [judge_missing(topic) for topic in READERS if topic not in lags]
    return [*lag_observations(lags), *map(as_evaluation, results)], f"{sum(lags.values())} messages unread in Kafka"


def look_at_ages(wiring: Wiring, lags: Mapping[Topic, int] | None) -> tuple[list[dg.AssetCheckEvaluation], str]:
    """What the health probe tells about the oldest messages. Raises `LagUnknown`.

    Kafka is asked only for topics of which something is unread by `lags`; for all of them when these aren't known.
    """
    states = [age_state(wiring, topic, is_read=lags is not None and not lags.get(topic)) for topic in READERS]
    oldest = max(state.age_ms for state in states)
    return [as_evaluation(judge_age(state)) for state in states], f"the oldest for {about_duration(oldest)}"
