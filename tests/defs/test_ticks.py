"""What every tick has in common: no overlap, servers that are out are skips, bugs are failures."""

import threading

import dagster as dg
import pytest

from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.errors import ConfigError, LagUnknown, PublishFailed, Unavailable
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.waiting import eventually


@pytest.fixture
def wiring(bare_environment: object) -> Wiring:
    return Wiring(Settings(None))


@pytest.fixture
def context(instance: dg.DagsterInstance) -> dg.SensorEvaluationContext:
    return dg.build_sensor_context(instance=instance, sensor_name="some_sensor")


@pytest.mark.parametrize("kind", [Unavailable, PublishFailed, LagUnknown, ConfigError])
def test_a_server_that_is_out_and_a_wrong_setting_are_told_with_what_helps(
    kind: type[Exception], context: dg.SensorEvaluationContext, wiring: Wiring
) -> None:
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: Wiring) -> dg.SkipReason:
        raise kind("Kafka is expected at a:1 (KAFKA_BOOTSTRAP_SERVERS)")

    told = tick(context, wiring).skip_message or ""
    assert "KAFKA_BOOTSTRAP_SERVERS" in told
    assert "`issuetracker up`" in told


def test_a_bug_fails_its_tick_and_the_next_one_runs(context: dg.SensorEvaluationContext, wiring: Wiring) -> None:
    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: Wiring) -> dg.SkipReason:
        raise KeyError("bug")

    for _ in range(2):
        with pytest.raises(KeyError):
            tick(context, wiring)


def test_a_tick_skips_while_the_one_before_it_is_at_work(context: dg.SensorEvaluationContext, wiring: Wiring) -> None:
    may_end, began = threading.Event(), threading.Event()

    @guarded
    def tick(context: dg.SensorEvaluationContext, wiring: Wiring) -> dg.SkipReason:
        began.set()
        may_end.wait(10)
        return dg.SkipReason("worked")

    slow = threading.Thread(target=tick, args=(context, wiring))
    slow.start()
    try:
        assert began.wait(5)
        assert "still at work" in (tick(context, wiring).skip_message or "")
    finally:
        may_end.set()
        slow.join()
    assert eventually(lambda: tick(context, wiring).skip_message) == "worked"


def test_dagster_gives_a_guarded_tick_its_resources(context: dg.SensorEvaluationContext, wiring: Wiring) -> None:
    @dg.sensor(job_name="x")
    @guarded
    def sensor(context: dg.SensorEvaluationContext, wiring: dg.ResourceParam[Wiring]) -> dg.SkipReason:
        return dg.SkipReason(str(wiring.settings.shift.intake_batch))

    assert sensor.required_resource_keys == {"wiring"}
    with dg.build_sensor_context(resources={"wiring": wiring}) as given:
        assert sensor.evaluate_tick(given).skip_message == "500"
