"""A Redis that comes back without its data is told of, by a check on each thing that waited there alone."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.adapters.redis.buffer import RedisBuffer
from issuetracker_dagster.adapters.redis.client import command, connect
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.defs import losses
from issuetracker_dagster.defs.assets import FRONTIER, RETRIES, buffer_key
from issuetracker_dagster.defs.losses import ASSETS, CHECK, judge_kept
from issuetracker_dagster.model.losses import Kind, Loss
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.buffering import BUFFER_KEYS
from tests.defs.looking import sensors

NOW_MS = 1_750_000_000_000


@pytest.fixture
def servers(bare_environment: Path, kafka_bootstrap: str, clean_valkey_url: str) -> dict[str, str]:
    database = f"sqlite:///{bare_environment / 'losses.db'}"
    upgrade(database)
    return {"KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap, "REDIS_URL": clean_valkey_url, "DATABASE_URL": database}


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Any] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record)


@pytest.fixture
def lines() -> Iterator[list[Any]]:
    """What is logged about losses."""
    handler = Lines()
    losses.logger.addHandler(handler)
    yield handler.found
    losses.logger.removeHandler(handler)


@pytest.mark.services
def test_a_wiped_redis_turns_the_checks_of_what_waited_there_red(
    servers: dict[str, str], load_definitions: Any, instance: dg.DagsterInstance, lines: list[Any]
) -> None:
    def tick(cursor: str) -> tuple[dict[dg.AssetKey, dg.AssetCheckEvaluation], str]:
        """In a code location of its own: only the cursor goes from one to the next."""
        defs = load_definitions(**servers)
        with dg.build_sensor_context(
            instance=instance, resources=dict(defs.resources or {}), sensor_name="health_probe", cursor=cursor
        ) as context:
            data = sensors(defs)["health_probe"].evaluate_tick(context)
        events = [event for event in data.asset_events if isinstance(event, dg.AssetCheckEvaluation)]
        return {event.asset_key: event for event in events if event.check_name == CHECK}, data.cursor or ""

    redis = connect(servers["REDIS_URL"])
    RedisBuffer(redis, BUFFER_KEYS[Topic.CRAWL_LOW], max_len=0).push([b"one", b"two"])
    checks, cursor = tick("")
    assert checks.keys() == {buffer_key(Topic.CRAWL_NORMAL), buffer_key(Topic.CRAWL_LOW), RETRIES, FRONTIER}
    assert all(check.passed for check in checks.values())
    command(redis, "FLUSHALL")
    checks, cursor = tick(cursor)
    assert not any(check.passed for check in checks.values())
    told = checks[buffer_key(Topic.CRAWL_LOW)]
    assert told.severity is dg.AssetCheckSeverity.ERROR
    assert "Redis came back without its data" in (told.description or "")
    assert "2 jobs of the buffer of crawl.low were waiting" in (told.description or "")
    assert checks[RETRIES].severity is dg.AssetCheckSeverity.WARN, "nothing is known to have waited there"
    assert {line.what: line.count for line in lines if line.action == "redis.data_lost"} == {
        "buffer_normal": 0, "buffer_low": 2, "retries": 0, "frontier": 0,
    }  # fmt: skip
    lines.clear()
    checks, cursor = tick(cursor)
    assert not any(check.passed for check in checks.values()), "it is told for longer than one tick"
    assert not lines, "and logged once"


@pytest.mark.parametrize("name", ASSETS)
def test_the_check_says_what_was_lost_when_it_was_seen_and_what_helps(name: str) -> None:
    loss = Loss(Kind.BEHIND, 3, NOW_MS - 90_000, NOW_MS - 60_000, NOW_MS - 3_600_000)
    said = judge_kept(name, [loss], NOW_MS).description or ""
    assert "1m ago: another Redis took over that lacked some of the last writes" in said
    assert "at 2025-06-15 15:05:10 UTC, 3 " in said
    assert "all of them since 2025-06-15 14:06:40 UTC" in said
    assert "what came in the 30s after that wasn't seen" in said
    assert "issuetracker publish URL --again" in said


def test_without_a_loss_the_check_is_green() -> None:
    assert judge_kept("retries", [], NOW_MS).passed is True
