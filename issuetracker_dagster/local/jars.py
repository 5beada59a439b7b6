"""Apache Kafka's jars: resolved once from Maven Central, kept in the user's cache, later found without a network."""

import contextlib
import fcntl
import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from issuetracker_dagster.errors import ConfigError, IssueTrackerError

logger = logging.getLogger(__name__)

VERSION = "4.3.1"
_ROOTS = (
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.slf4j", "slf4j-api", "2.0.17"),
    ("org.slf4j", "slf4j-simple", "2.0.17"),
)


class JarsUnavailable(IssueTrackerError):
    """The jars are neither in the cache nor to be had from the repository."""


def default_cache() -> Path:
    """Where downloads of all homes of this user are kept."""
    return Path.home() / ".cache" / "issuetracker"


def are_here(cache: Path) -> bool:
    """Whether nothing has to be downloaded."""
    return (cache / f"kafka-{VERSION}" / "complete").exists()


def kafka_jars(
    cache: Path, repository: str | None = None, progress: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """The jars of the class path, downloading what isn't in the cache (46 files, 46 MB).

    `repository` is the URL of a Maven repository; None takes the resolver's own default, Maven Central.

    Several commands may ask at once: one downloads, the others wait. A download that broke off leaves no half cache.
    Raises JarsUnavailable when the repository can't be reached, ConfigError when the resolver isn't installed.
    """
    folder = cache / f"kafka-{VERSION}"
    with _only_one(cache / f"kafka-{VERSION}.lock"):
        if not are_here(cache):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            _download(folder, repository, progress)
            (folder / "complete").touch()
    return sorted(folder.glob("*.jar"))


def _download(folder: Path, repository: str | None, progress: Callable[[str], None]) -> None:
    try:
        import requests
        from jgo.maven import MavenContext, PythonResolver
        from jgo.parse import Coordinate
    except ImportError:
        raise ConfigError(
            "The resolver of the embedded Kafka isn't installed. Install it with "
            "`pip install 'issuetracker-dagster[local]'`, or set KAFKA_BOOTSTRAP_SERVERS to a running Kafka."
        ) from None
    progress(f"Apache Kafka {VERSION}: asking the Maven repository (once)")
    staging = folder / "repository"
    remote_repos = None if repository is None else {"central": repository}
    context = MavenContext(resolver=PythonResolver(), repo_cache=staging, local_repos=[], remote_repos=remote_repos)
    wanted = [
        context.create_dependency(Coordinate(groupId=group, artifactId=name, version=version, scope="compile"))
        for group, name, version in _ROOTS
    ]
    try:
        inputs, transitive = context.resolver.resolve(wanted)
        needed = [*inputs, *(one for one in transitive if one.scope in ("compile", "runtime"))]
        artifacts = [one.artifact for one in needed]
        for number, artifact in enumerate(artifacts, start=1):
            progress(f"Apache Kafka {VERSION}: jar {number} of {len(artifacts)}, {artifact.filename}")
            shutil.move(artifact.resolve(), folder / artifact.filename)
    except (requests.RequestException, OSError, RuntimeError, ValueError) as error:
        # The resolver's own failures are RuntimeError and ValueError; its text names the artifact.
        shutil.rmtree(folder, ignore_errors=True)
        raise JarsUnavailable(
            f"Apache Kafka {VERSION} can't be had from {repository or 'Maven Central'}: {error}"
        ) from error
    shutil.rmtree(staging, ignore_errors=True)


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
