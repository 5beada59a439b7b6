"""Whether `dagster dev` and the demo site of a home run, and where: the rest of what `status` lists.

Their processes are asked, since nothing else knows whether they live: neither is a service that `up` keeps.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

from issuetracker_dagster.local import family
from issuetracker_dagster.local.endpoints import Condition, ServiceStatus
from issuetracker_dagster.local.ports import is_listening
from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.local.site.remembered import recall

_SITE = "issuetracker_dagster.local.site"
_DAGSTER = ["dagster", "dev"]


def dagster_status(home: Path) -> list[ServiceStatus]:
    """A line for Dagster, whose kind is `dev` or `demo` and whose endpoint the UI; one for the site of a demo's home.

    Dagster runs as soon as its UI answers.
    """
    home = home.resolve()
    ui = site = None
    for pid, words in _commands(home):
        if _SITE in words:
            site = pid
        elif any(words[at : at + 2] == _DAGSTER for at in range(len(words))):
            ui = pid, _after(words, "--host"), int(_after(words, "--port") or 0)
    if ui is None:
        lines = [ServiceStatus("dagster", "", "stopped", "")]
    else:
        pid, host, port = ui
        kind = "dev" if site is None else "demo"
        lines = [ServiceStatus("dagster", kind, _condition(port), f"http://{host}:{port}", pid)]
    found = recall(home)
    if found is not None:
        first = HOSTS[0].key
        state: Condition = "stopped" if site is None else _condition(found.ports[first])
        lines.append(ServiceStatus("demo site", "http", state, found.url(first, "/") if site else "", site))
    return lines


def _condition(port: int) -> Condition:
    return "running" if is_listening(port) else "starting"


def _commands(home: Path) -> Iterator[tuple[int, list[str]]]:
    for one in family.members(home):
        with contextlib.suppress(psutil.Error):
            yield one.pid, psutil.Process(one.pid).cmdline()


def _after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1] if option in words[:-1] else ""
