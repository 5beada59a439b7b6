"""Which embedded broker a home gets: Apache Kafka, or, where its jars can't be had, the one that stands in for it.

A home stays with the broker that holds its messages, since another one would come up empty and seem to have lost them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import children, jars, kafka, noida
from issuetracker_dagster.local.java import find_java

APACHE = "apache-kafka"
NOIDA = "noida-db"
STANDS_IN = noida.COST

Say = Callable[[Literal["working", "note", "warning"], str], None]


@dataclass(frozen=True)
class Source:
    """Where Apache Kafka comes from: a cache, a Maven repository, and the PATH to find Java on (None: the usual)."""

    cache: Path
    repository: str | None
    java_path: str | None = None


def start(
    home: Path, ports: Sequence[int], source: Source, *, log: Path, hold: int, report: Say
) -> tuple[str, children.Identity]:
    """Start the broker of this home; returns its kind and identity. `ports` are those of clients and of the controller.

    Raises StartFailed, or ConfigError when the home's messages are in Apache Kafka and its jars can't be had.
    """
    apache_folder, noida_folder = home / "kafka", home / "noida"
    if (noida_folder / "kafka.json").exists():
        report(
            "warning",
            f"This home's messages are in noida-db ({noida_folder}), so it goes on with that. {noida.COST} To change "
            "over, let the pipeline run empty, stop it, and remove that folder.",
        )
        return NOIDA, noida.start(noida_folder, ports[0], log=log, hold=hold)
    # Java first: it is the same message with and without a network.
    java = find_java(source.java_path)
    try:
        if not jars.are_here(source.cache):
            report("note", f"Apache Kafka {jars.VERSION} is fetched once (46 MB)")
        found = jars.kafka_jars(source.cache, source.repository, lambda text: report("working", text))
    except jars.JarsUnavailable as error:
        if (apache_folder / "data").is_dir():
            raise ConfigError(
                f"{error}. This home's messages are in Apache Kafka's files ({apache_folder}), and no other broker "
                "can read them. Let this machine reach the repository once, or choose another ISSUETRACKER_HOME."
            ) from error
        report("warning", f"{noida.COST} ({error})")
        try:
            return NOIDA, noida.start(noida_folder, ports[0], log=log, hold=hold)
        except children.StartFailed as failure:
            raise children.StartFailed(
                f"No embedded Kafka on this machine. {error}, and the fall-back doesn't start either: {failure}\n"
                "Set KAFKA_BOOTSTRAP_SERVERS to a running Kafka."
            ) from failure
    return APACHE, kafka.start(apache_folder, ports[0], ports[1], log=log, java=java, jars=found, hold=hold)
