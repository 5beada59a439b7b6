"""The broker itself is stopped, killed, and out of disk space under load: nothing is lost, and work goes on alone."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.local import children
from tests.faults.pipeline import WHOLE_WITHIN_S, Pipeline, running_pipeline, seconds_of
from tests.journey.killable import Killable, killable_kafka
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(600)]

AWAY_S = 2.0


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Killable]:
    with killable_kafka(tmp_path / "kafka") as server:
        yield server


@pytest.fixture
def pipeline(environment: dict[str, str], broker: Killable, tmp_path: Path) -> Iterator[Pipeline]:
    with running_pipeline({**environment, "KAFKA_BOOTSTRAP_SERVERS": broker.address}, tmp_path) as running:
        yield running


def test_a_broker_that_is_stopped_killed_or_out_of_disk_space_loses_nothing(
    pipeline: Pipeline, broker: Killable
) -> None:
    broker.stop()
    _stays_away(pipeline)
    broker.start()
    pipeline.goes_on()

    broker.kill()
    _stays_away(pipeline)
    broker.start()
    pipeline.goes_on()

    process = children.Identity.of(broker.pid)
    _fill_the_disk(broker)
    eventually(lambda: not children.is_alive(process), timeout_s=WHOLE_WITHIN_S)  # it ends by itself
    _stays_away(pipeline)
    # Readers ask a silent broker after some seconds only, a publish waits for longer: short absences may pass unsaid.
    eventually(lambda: "KAFKA_BOOTSTRAP_SERVERS" in pipeline.words, timeout_s=WHOLE_WITHIN_S)
    broker.start()
    pipeline.goes_on()

    pipeline.must_be_whole()


def _stays_away(pipeline: Pipeline) -> None:
    """The broker is out for a while, and the tries and words of those who want it are few."""
    lines = len(pipeline.words.texts)
    eventually(seconds_of(AWAY_S), timeout_s=AWAY_S + 5)
    assert len(pipeline.words.texts) - lines < 20 * AWAY_S


def _fill_the_disk(broker: Killable) -> None:
    """Each write of the broker fails from now on, as on a disk without room."""
    resource.prlimit(broker.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
