"""Finding 34: a replica takes over under load, in step or behind; what it lacks comes back from Kafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.model.losses import Kind, Memory, new_losses, remember
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.losses import holdings
from tests.faults.pipeline import STAGE, WHOLE_WITHIN_S, running_pipeline
from tests.faults.proxy import FaultProxy
from tests.faults.replicas import Pair, port_of, running_pair, watched
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with running_pair(tmp_path / "pair") as servers:
        yield servers


def test_34_when_sentinel_promotes_the_replica_work_goes_on_by_itself(
    environment: dict[str, str], pair: Pair, tmp_path: Path
) -> None:
    with (
        watched(pair, tmp_path / "sentinel") as url,
        running_pipeline({**environment, "REDIS_URL": url}, tmp_path) as pipeline,
    ):
        pair.primary.kill()
        pipeline.comes_through()
        eventually(lambda: "another Redis server took over" in pipeline.words, timeout_s=WHOLE_WITHIN_S)
        pipeline.must_be_whole()


def test_34_what_a_promoted_replica_never_got_comes_back_from_kafka_and_is_told_where_it_cant(
    environment: dict[str, str], pair: Pair, tmp_path: Path
) -> None:
    with FaultProxy(port_of(pair.primary)) as to_redis:
        through = {**environment, "REDIS_URL": f"redis://127.0.0.1:{to_redis.port}/0"}
        with running_pipeline(through, tmp_path) as pipeline:
            seen = remember(Memory(), holdings(pipeline.wiring), now_ms=0)
            eventually(pair.is_in_step, timeout_s=WHOLE_WITHIN_S)
            with pair.link.refusing():
                # Stored and committed meanwhile: messages that only the primary has.
                pipeline.handler.gate.clear()
                eventually(lambda: pipeline.wiring.queue(STAGE).depth().ready > 30, timeout_s=WHOLE_WITHIN_S)
                pipeline.wiring.buffers[Topic.CRAWL_LOW].push([b"a job that only the primary has"])
                seen = remember(seen, holdings(pipeline.wiring), now_ms=1)
                pair.primary.kill()
                pair.promote()
                to_redis.lead_to(port_of(pair.replica))
            pipeline.handler.gate.set()
            pipeline.comes_through()
            eventually(lambda: "is filled again from Kafka" in pipeline.words, timeout_s=WHOLE_WITHIN_S)
            found = remember(seen, holdings(pipeline.wiring), now_ms=2)
            assert {loss.kind for _, loss in new_losses(seen, found)} == {Kind.BEHIND}
            assert {name: loss.count for name, loss in new_losses(seen, found)}["buffer_low"] == 1
            pipeline.must_be_whole()
