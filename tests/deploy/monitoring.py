"""A real Prometheus that scrapes a real `issuetracker metrics`, and its checking tool."""

import contextlib
import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from issuetracker_dagster.local import children
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from tests import services
from tests.deploy.expressions import PROMETHEUS, read_yaml


def program(name: str) -> str:
    """`prometheus` or `promtool`."""
    found = shutil.which(name)
    if found is None:
        services.missing(f"{name} (Debian package prometheus)")
    return str(found)


def promtool(*words: str) -> str:
    """What it prints, in the folder of the rules; an error when it isn't content."""
    done = subprocess.run(
        [program("promtool"), *words], cwd=PROMETHEUS, capture_output=True, text=True, check=False, timeout=60
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


class Prometheus:
    """A running server, through its HTTP API."""

    def __init__(self, port: int) -> None:
        self._at = f"http://{LOOPBACK}:{port}"

    def is_ready(self) -> bool:
        """Whether it answers queries."""
        try:
            with urllib.request.urlopen(f"{self._at}/-/ready", timeout=5) as answer:  # noqa: S310 - our own loopback server
                return bool(answer.status == 200)
        except OSError:
            return False

    def get(self, path: str, **words: str) -> Any:
        """`data` of an answer. AssertionError with Prometheus' own words when it refuses."""
        url = f"{self._at}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - as above
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{words or path}: {error.read().decode()}") from None

    def ask(self, expr: str) -> list[Any]:
        """The series that an expression has now."""
        found: list[Any] = self.get("query", query=expr)["result"]
        return found

    def alerts(self, name: str) -> list[Any]:
        """The alerts of this name that are pending or fire."""
        return [one for one in self.get("alerts")["alerts"] if one["labels"]["alertname"] == name]


@contextlib.contextmanager
def running_prometheus(folder: Path, target: str) -> Iterator[Prometheus]:
    """Prometheus with the configuration of `deploy/`, which only looks at another address and more often."""
    config = read_yaml("prometheus.yml")
    config["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    folder.mkdir()
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    for name in config["rule_files"]:
        shutil.copy(PROMETHEUS / name, folder / name)
    (port,) = choose_ports(1)
    argv = [
        program("prometheus"), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={LOOPBACK}:{port}",
    ]  # fmt: skip
    log = folder / "prometheus.log"
    server, client = children.spawn(argv, log=log, cwd=folder), Prometheus(port)
    try:
        children.wait_ready(server, client.is_ready, name="Prometheus", log=log, timeout_s=60.0)
        yield client
    finally:
        children.stop(server, grace_s=10.0)
