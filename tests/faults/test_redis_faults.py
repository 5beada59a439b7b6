"""Finding 34: whatever Redis does under load, nothing is lost or blamed, tries are bounded, and work goes on alone."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from tests.contracts.redis_worlds import full
from tests.faults.pipeline import STAGE, WHOLE_WITHIN_S, Pipeline, again_and_again, running_pipeline, seconds_of
from tests.faults.proxy import FaultProxy
from tests.waiting import eventually, stays

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(400)]

AWAY_S = 12.0


@pytest.fixture
def server(clean_valkey_url: str) -> RedisClient:
    """A way to the server past the proxy."""
    return connect(clean_valkey_url)


@pytest.fixture
def pipeline(environment: dict[str, str], to_redis: FaultProxy, tmp_path: Path) -> Iterator[Pipeline]:
    through = {**environment, "REDIS_URL": f"redis://127.0.0.1:{to_redis.port}/0"}
    with running_pipeline(through, tmp_path, direct={"REDIS_URL": environment["REDIS_URL"]}) as running:
        yield running


def test_34_unreachable_for_longer_than_its_leases_last_work_goes_on_by_itself(
    pipeline: Pipeline, to_redis: FaultProxy
) -> None:
    with to_redis.down():
        lines, tries = len(pipeline.words.texts), to_redis.connections
        eventually(seconds_of(AWAY_S), timeout_s=AWAY_S + 5)
        lines, tries = len(pipeline.words.texts) - lines, to_redis.connections - tries
    pipeline.goes_on()
    # Six slots, an intake, a relay and a lease keeper: each asks about once a second, a few times over.
    assert tries < 100 * AWAY_S
    assert lines < 10 * AWAY_S
    assert "REDIS_URL" in pipeline.words
    pipeline.must_be_whole()


def test_34_replies_lost_after_the_server_has_done_it_have_no_second_effect(
    pipeline: Pipeline, to_redis: FaultProxy
) -> None:
    again_and_again(to_redis.lose, lambda: to_redis.lost, times=40, pause_s=0.05)
    # Not at once: what was claimed and never arrived waits for its lease to run out.
    pipeline.comes_through()
    pipeline.must_be_whole()
    repeats = pipeline.handler.counts().total() - len(pipeline.sent)
    assert repeats <= to_redis.lost


def test_34_connections_cut_in_mid_reply_lose_nothing(pipeline: Pipeline, to_redis: FaultProxy) -> None:
    again_and_again(to_redis.cut_in_mid_reply, lambda: to_redis.cut, times=40, pause_s=0.05)
    pipeline.comes_through()
    pipeline.must_be_whole()


def test_34_scripts_flushed_again_and_again_go_unnoticed(pipeline: Pipeline, server: RedisClient) -> None:
    for _ in range(40):
        command(server, "SCRIPT", "FLUSH")
        eventually(seconds_of(0.05))
    pipeline.comes_through()
    assert not pipeline.words.texts
    pipeline.must_be_whole()


def test_34_and_50_a_full_server_says_so_and_makes_room_for_itself_by_what_is_worked_off(
    pipeline: Pipeline, server: RedisClient
) -> None:
    def used() -> int:
        return int(command(server, "INFO", "memory")["used_memory"])

    queue = pipeline.wiring.queue(STAGE)
    pipeline.handler.gate.clear()
    command(server, "CONFIG", "SET", "maxmemory", str(used() + 1_000_000))
    try:
        pipeline.burst(300, each_bytes=8_000)
        eventually(lambda: "it is full (maxmemory)" in pipeline.words, timeout_s=WHOLE_WITHIN_S)
        assert "CONFIG SET maxmemory" in pipeline.words
        held, at_most = queue.depth().total, used()
        assert 0 < held < 300, "the rest waits in Kafka"
        # Nothing is sent from here on: a machine that works off no more than comes in would stay as full as it is.
        pipeline.calm()
        pipeline.handler.gate.set()
        # Claims and acks go on, memory falls, and pushes resume, all of it below the same limit.
        eventually(lambda: queue.depth().total < held // 2 and used() < at_most, timeout_s=WHOLE_WITHIN_S)
        pipeline.must_be_whole()
    finally:
        pipeline.handler.gate.set()
        command(server, "CONFIG", "SET", "maxmemory", "0")


def test_34_and_50_out_of_memory_what_is_queued_is_worked_off_and_pushes_resume_when_there_is_room(
    pipeline: Pipeline, server: RedisClient
) -> None:
    with full(server):
        eventually(
            lambda: "it is full (maxmemory)" in pipeline.words or pipeline.wiring.queue(STAGE).depth().total == 0,
            timeout_s=WHOLE_WITHIN_S,
        )
        eventually(lambda: pipeline.wiring.queue(STAGE).depth().total == 0, timeout_s=WHOLE_WITHIN_S)
        before = pipeline.done()
        assert stays(lambda: pipeline.done() <= before + 8, for_s=2)
    pipeline.goes_on()
    pipeline.must_be_whole()


def test_34_a_changed_password_is_said_plainly_and_never_shown(pipeline: Pipeline, server: RedisClient) -> None:
    command(server, "CONFIG", "SET", "requirepass", "changed-word")
    try:
        with suppress(RedisError):
            command(server, "CLIENT", "KILL", "TYPE", "normal")
        eventually(
            lambda: "NOAUTH" in pipeline.words or "refuses the user or password" in pipeline.words,
            timeout_s=WHOLE_WITHIN_S,
        )
        before = pipeline.done()
        assert stays(lambda: pipeline.done() <= before + 8, for_s=2)
    finally:
        command(server, "AUTH", "changed-word")
        command(server, "CONFIG", "SET", "requirepass", "")
    pipeline.goes_on()
    assert "changed-word" not in pipeline.words
    pipeline.must_be_whole()
