"""Finding 34: Redis is killed under load and comes back, with its data or without."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.pipeline import Pipeline, running_pipeline
from tests.journey.killable import Killable, killable_valkey

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Killable]:
    with killable_valkey(tmp_path / "valkey") as server:
        yield server


@pytest.fixture
def pipeline(environment: dict[str, str], redis: Killable, tmp_path: Path) -> Iterator[Pipeline]:
    with running_pipeline({**environment, "REDIS_URL": redis.address}, tmp_path) as running:
        yield running


def test_34_killed_and_restarted_it_goes_on_where_it_was(pipeline: Pipeline, redis: Killable) -> None:
    redis.kill()
    redis.start()
    pipeline.goes_on()
    assert "is filled again" not in pipeline.words
    pipeline.must_be_whole()


def test_34_wiped_its_queues_fill_themselves_again_from_kafka(
    pipeline: Pipeline, redis: Killable, tmp_path: Path
) -> None:
    redis.kill()
    shutil.rmtree(tmp_path / "valkey" / "appendonlydir")
    redis.start()
    pipeline.comes_through()
    pipeline.must_be_whole()
    assert "is filled again from Kafka" in pipeline.words
