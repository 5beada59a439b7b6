"""The embedded Apache Kafka: one node that is broker and controller (KRaft), on the loopback interface."""

import base64
import os
import socket
import struct
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

from issuetracker_dagster.local import children
from issuetracker_dagster.local.ports import LOOPBACK

START_TIMEOUT_S = 90.0
STOP_GRACE_S = 30.0
_METADATA_V1 = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 0)


def start(
    folder: Path,
    port: int,
    controller_port: int,
    *,
    log: Path,
    java: Path,
    jars: Sequence[Path],
    heap_mb: int = 384,
    hold: int | None = None,
) -> children.Identity:
    """Start a broker whose data lives in `folder` (formatted the first time) and return when it serves requests.

    Ports may differ from those of the last start; `hold` is as for `children.spawn`. Raises StartFailed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "server.properties"
    config.write_text(_properties(folder.resolve(), port, controller_port))
    command = [
        str(java),
        *(f"-Xmx{heap_mb}m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        *("-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss"),
        *("-cp", os.pathsep.join(str(jar) for jar in jars)),
    ]
    if not (folder / "data" / "meta.properties").exists():
        _format(command, config, folder, log)
    identity = children.spawn([*command, "kafka.Kafka", str(config.resolve())], log=log, cwd=folder, hold=hold)
    try:
        children.wait_ready(identity, lambda: answers(port), name="Kafka", log=log, timeout_s=START_TIMEOUT_S)
    except BaseException:
        children.stop(identity, grace_s=5.0)
        raise
    return identity


def answers(port: int) -> bool:
    """Whether a broker on this loopback port names at least one live broker in its metadata.

    Spoken by hand (Metadata, version 1): an open port isn't enough, since a broker that is still fenced refuses to
    create topics.
    """
    try:
        with socket.create_connection((LOOPBACK, port), timeout=2.0) as connection:
            connection.settimeout(2.0)
            connection.sendall(struct.pack(">i", len(_METADATA_V1)) + _METADATA_V1)
            head = b""
            while len(head) < 12:
                part = connection.recv(12 - len(head))
                if not part:
                    return False
                head += part
    except OSError:
        return False
    brokers: int = struct.unpack(">iii", head)[2]
    return brokers > 0


def _format(command: Sequence[str], config: Path, folder: Path, log: Path) -> None:
    # The cluster id is kept beside the data: a start that broke off between the two formats again with the same one.
    id_file = folder / "cluster-id"
    if not id_file.exists():
        id_file.write_text(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))
    argv = [*command, "kafka.tools.StorageTool", "format", "--ignore-formatted"]
    argv += ["--cluster-id=" + id_file.read_text().strip(), "--config", str(config.resolve())]
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(  # noqa: S603 - argv comes from this package, never through a shell
            argv,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise children.StartFailed(
            f"Kafka's data folder {folder} wasn't ready after {START_TIMEOUT_S:.0f} s. Try again when the machine has "
            "less to do, or set KAFKA_BOOTSTRAP_SERVERS to a running Kafka."
        ) from None
    except OSError as error:
        raise children.StartFailed(f"{command[0]} can't be run: {error}") from error
    with log.open("a") as out:
        out.write(done.stdout + done.stderr)
    if done.returncode != 0:
        raise children.StartFailed(f"Kafka's data folder {folder} can't be formatted:\n{children.tail(log)}")


def _properties(folder: Path, port: int, controller_port: int) -> str:
    settings = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": folder / "data",
        # Topics are created on purpose, with their partitions and retention; a typing error must not make one.
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": 1,
        # One node gains nothing from the 50 partitions of a cluster, and each costs files and start time.
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 1,
        "group.initial.rebalance.delay.ms": 0,
        # On one machine nobody is far away: who wants a killed member noticed sooner than in six seconds may have it.
        "group.min.session.timeout.ms": 1_000,
        # A home that lay still for weeks resumes where it stopped.
        "offsets.retention.minutes": 60 * 24 * 365,
        "log.segment.bytes": 64 * 1024 * 1024,
        "num.network.threads": 2,
        "num.io.threads": 4,
        "num.partitions": 1,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
        "log.cleaner.threads": 1,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
