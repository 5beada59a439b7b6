"""Real servers for tests, each started once a session on free ports in a temporary folder and stopped at its end."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from issuetracker_dagster.local import children, jars, java, kafka, noida, valkey
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from tests.waiting import eventually

IN_CI = os.environ.get("CI", "").lower() == "true"
SLOTS = 16384


def missing(what: str) -> None:
    """A server that tests need isn't on this machine: a failure in CI, elsewhere a skip that says so."""
    if IN_CI:
        pytest.fail(f"{what} is missing, and in CI nothing may be skipped for that")
    pytest.skip(f"{what} isn't on this machine")


@contextlib.contextmanager
def running_valkey(folder: Path, binary: Path | None = None) -> Iterator[str]:
    """A Valkey (or the Redis of `binary`); yields its URL."""
    (port,) = choose_ports(1)
    server = valkey.start(folder, port, log=folder / "server.log", binary=binary)
    try:
        yield f"redis://{LOOPBACK}:{port}/0"
    finally:
        children.stop(server, grace_s=5.0)


def redis7_binary() -> Path:
    """Debian's redis-server (7.0: a server without WAITAOF)."""
    found = shutil.which("redis-server")
    if found is None:
        missing("redis-server (Debian package redis-server)")
    return Path(str(found))


@contextlib.contextmanager
def running_redis_cluster(folder: Path) -> Iterator[str]:
    """Three cluster nodes that own all slots; yields the URL of one of them."""
    # A node's bus listens on its own port + 10000 unless told; both are chosen free here.
    ports = choose_ports(6)
    nodes = list(zip(ports[:3], ports[3:], strict=True))
    servers: list[children.Identity] = []
    try:
        for port, bus in nodes:
            home = folder / str(port)
            extra = ["--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "5000"]
            servers.append(valkey.start(home, port, log=home / "server.log", extra=extra))
        share = SLOTS // 3
        for index, (port, _) in enumerate(nodes):
            last = SLOTS - 1 if index == 2 else (index + 1) * share - 1
            _say(port, f"CLUSTER ADDSLOTSRANGE {index * share} {last}")
            _say(port, f"CLUSTER SET-CONFIG-EPOCH {index + 1}")
        for port, bus in nodes[1:]:
            _say(nodes[0][0], f"CLUSTER MEET {LOOPBACK} {port} {bus}")
        eventually(lambda: all(_whole(port) for port, _ in nodes), timeout_s=30.0)
        yield f"redis://{LOOPBACK}:{nodes[0][0]}"
    finally:
        for server in servers:
            children.stop(server, grace_s=5.0)


def _whole(port: int) -> bool:
    info = _say(port, "CLUSTER INFO")
    return "cluster_state:ok" in info and "cluster_known_nodes:3" in info


def _say(port: int, command: str) -> str:
    with socket.create_connection((LOOPBACK, port), timeout=5.0) as connection:
        connection.sendall(command.encode() + b"\r\n")
        answer = connection.recv(65536).decode()
    if answer.startswith("-"):
        raise AssertionError(f"{command}: {answer}")
    return answer


@contextlib.contextmanager
def running_kafka(folder: Path) -> Iterator[str]:
    """An Apache Kafka with a small heap; yields its bootstrap servers."""
    port, controller = choose_ports(2)
    server = kafka.start(
        folder,
        port,
        controller,
        log=folder / "server.log",
        java=java.find_java(),
        jars=jars.kafka_jars(jars.default_cache()),
    )
    try:
        yield f"{LOOPBACK}:{port}"
    finally:
        children.stop(server, grace_s=kafka.STOP_GRACE_S)


@contextlib.contextmanager
def running_noida(folder: Path) -> Iterator[str]:
    """The fall-back broker; yields its bootstrap servers."""
    (port,) = choose_ports(1)
    server = noida.start(folder, port, log=folder / "server.log")
    try:
        yield f"{LOOPBACK}:{port}"
    finally:
        children.stop(server, grace_s=5.0)


@dataclass(frozen=True)
class Postgres:
    """A running server; `new_database` makes an empty database and returns its SQLAlchemy URL."""

    port: int

    def new_database(self, name: str) -> str:
        import psycopg

        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
        return f"postgresql+psycopg://postgres@{LOOPBACK}:{self.port}/{name}"

    def drop_database(self, name: str) -> None:
        import psycopg

        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(
                psycopg.sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(psycopg.sql.Identifier(name))
            )

    def _dsn(self, database: str) -> str:
        return f"host={LOOPBACK} port={self.port} user=postgres dbname={database}"


def postgres_programs() -> Path:
    """The folder of `initdb` and `postgres`, the newest installed."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    if not installed:
        missing("PostgreSQL (Debian package postgresql)")
    return installed[-1].parent


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A PostgreSQL that trusts loopback connections. As root it runs as the user `postgres`, since it refuses root."""
    programs = postgres_programs()
    user = "postgres" if os.geteuid() == 0 else None
    # pytest's own folders are closed to other users, so this one lies beside them.
    with tempfile.TemporaryDirectory(prefix="issuetracker-postgres-") as made:
        folder = Path(made)
        if user:
            shutil.chown(folder, user)
        with _postgres_in(folder, programs, user) as server:
            yield server


@contextlib.contextmanager
def _postgres_in(folder: Path, programs: Path, user: str | None) -> Iterator[Postgres]:
    data = folder / "data"
    made = subprocess.run(
        [programs / "initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync", "-E", "UTF8"],
        user=user,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise AssertionError(f"initdb failed: {made.stderr}")
    (port,) = choose_ports(1)
    argv = [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-h", LOOPBACK]
    argv += ["-c", f"unix_socket_directories={data}", "-c", "fsync=off", "-c", "max_connections=60"]
    server = children.spawn(argv, log=folder / "server.log", cwd=folder, user=user)
    try:
        children.wait_ready(
            server, lambda: _accepts(port), name="PostgreSQL", log=folder / "server.log", timeout_s=60.0
        )
        yield Postgres(port)
    finally:
        # SIGTERM would wait for connections that a test left open.
        children.stop(server, grace_s=10.0, first=signal.SIGINT)


def _accepts(port: int) -> bool:
    import psycopg

    try:
        psycopg.connect(f"host={LOOPBACK} port={port} user=postgres dbname=postgres", connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
