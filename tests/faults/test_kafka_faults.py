"""Whatever Kafka does under load, nothing is lost or blamed, and work goes on alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.pipeline import Pipeline, again_and_again, running_pipeline, seconds_of
from tests.faults.proxy import FaultProxy
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def pipeline(environment: dict[str, str], to_kafka: FaultProxy, tmp_path: Path) -> Iterator[Pipeline]:
    through = {**environment, "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{to_kafka.port}"}
    past = {"KAFKA_BOOTSTRAP_SERVERS": environment["KAFKA_BOOTSTRAP_SERVERS"]}
    with running_pipeline(through, tmp_path, direct=past) as running:
        yield running


def test_a_slow_broker_only_slows_the_work(pipeline: Pipeline, to_kafka: FaultProxy) -> None:
    with to_kafka.slow(0.3):
        eventually(seconds_of(6.0))
        pipeline.comes_through()
    pipeline.must_be_whole()


def test_a_broker_out_of_reach_is_named_and_work_goes_on_when_it_is_back(
    pipeline: Pipeline, to_kafka: FaultProxy
) -> None:
    with to_kafka.refusing():
        lines = len(pipeline.words.texts)
        eventually(seconds_of(12.0), timeout_s=20)
        lines = len(pipeline.words.texts) - lines
    pipeline.goes_on()
    assert lines < 200
    assert "KAFKA_BOOTSTRAP_SERVERS" in pipeline.words
    pipeline.must_be_whole()


def test_acknowledgements_lost_after_the_broker_has_stored_lose_nothing(
    pipeline: Pipeline, to_kafka: FaultProxy
) -> None:
    again_and_again(to_kafka.lose, lambda: to_kafka.lost, times=10, pause_s=0.3)
    pipeline.comes_through()
    pipeline.must_be_whole()
