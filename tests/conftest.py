"""Fixtures that every test may ask for. A server starts when the first test of the session asks for it."""

import gc
import logging
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import settings

from tests import services
from tests.dealing import (  # noqa: F401 - hooks
    pytest_collection_modifyitems,
    pytest_sessionfinish,
    pytest_testnodedown,
    pytest_xdist_make_scheduler,
)

# `make test-fast` looks at fewer examples of each property; `make test` at Hypothesis' own hundred.
settings.register_profile("fast", max_examples=25)


def pytest_configure() -> None:
    """A client says hundreds of times that a broker is gone; with that, nobody could read why a test has failed."""
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


def pytest_collection_finish() -> None:
    """What was imported lives to the end: the collector walks it once, not again with every test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded pages, feeds and lists that lies beside the repository."""
    folder = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the recorded test data isn't at {folder}")
    return folder


@pytest.fixture(scope="session")
def valkey_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The embedded Valkey, append-only. Shared by the session: use key names of your own, or `clean_valkey_url`."""
    with services.running_valkey(tmp_path_factory.mktemp("valkey")) as url:
        yield url


@pytest.fixture
def clean_valkey_url(valkey_url: str) -> str:
    """The embedded Valkey, emptied first."""
    _flush(valkey_url)
    return valkey_url


@pytest.fixture(scope="session")
def redis7_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's Redis 7.0, which has no WAITAOF."""
    with services.running_valkey(tmp_path_factory.mktemp("redis7"), services.redis7_binary()) as url:
        yield url


@pytest.fixture
def clean_redis7_url(redis7_url: str) -> str:
    """Redis 7.0, emptied first."""
    _flush(redis7_url)
    return redis7_url


@pytest.fixture(scope="session")
def redis_cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One node's URL of a Valkey cluster of three masters without replicas."""
    with services.running_redis_cluster(tmp_path_factory.mktemp("redis-cluster")) as url:
        yield url


@pytest.fixture(scope="session")
def kafka_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An embedded Apache Kafka. Shared by the session: use topic prefixes and group names of your own."""
    with services.running_kafka(tmp_path_factory.mktemp("kafka")) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
def noida_bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The fall-back broker. Shared by the session."""
    with services.running_noida(tmp_path_factory.mktemp("noida")) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[services.Postgres]:
    """A PostgreSQL server of this session."""
    with services.running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: services.Postgres) -> Iterator[str]:
    """The SQLAlchemy URL of a fresh, empty PostgreSQL database, dropped after the test."""
    name = f"test_{uuid.uuid4().hex}"
    yield postgres_server.new_database(name)
    postgres_server.drop_database(name)


def _flush(url: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=5.0) as connection:
        connection.sendall(b"FLUSHALL\r\n")
        assert connection.recv(64).startswith(b"+OK")
