"""Servers behind a proxy, and the settings of a pipeline on them."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.faults.proxy import FaultProxy


@pytest.fixture
def environment(kafka_bootstrap: str, clean_valkey_url: str, tmp_path: Path) -> dict[str, str]:
    """Settings of a pipeline on the servers of the session, with short waits."""
    return {
        "ISSUETRACKER_HOME": str(tmp_path / "home"),
        "KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap,
        "KAFKA_TOPIC_PREFIX": f"{uuid.uuid4().hex[:8]}.",
        "REDIS_URL": clean_valkey_url,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'faults.db'}",
        "PARSER_ZSET_LEASE": "3s",
        "INTAKE_BATCH": "50",
    } | {f"KAFKA_PARTITIONS_{name}": "1" for name in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")}


@pytest.fixture
def to_redis(clean_valkey_url: str) -> Iterator[FaultProxy]:
    """The way of the pipeline to Redis."""
    with FaultProxy(int(urlsplit(clean_valkey_url).port or 0)) as proxy:
        yield proxy


@pytest.fixture
def to_kafka(kafka_bootstrap: str) -> Iterator[FaultProxy]:
    """The way of the pipeline to Kafka."""
    with FaultProxy(int(kafka_bootstrap.rpartition(":")[2]), advertised=True) as proxy:
        yield proxy
