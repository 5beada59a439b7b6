"""Whether `dagster dev` and the demo site of a home run, and where: the rest of what `status` lists.

Their processes are asked, since nothing else knows whether they live: neither is a service that `up` keeps.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

from issuetracker_dagster.local import family
from issuetracker_dagster.local.endpoints import Condition, ServiceStatus
from issuetracker_dagster.local.pipeline import Ui
from issuetracker_dagster.local.ports import is_listening
from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.local.site.remembered import recall

_SITE = "issuetracker_dagster.local.site"


def dagster_status(home: Path) -> list[ServiceStatus]:
    """A line for Dagster, whose kind is `dev` or `demo` and whose endpoint the UI; one for the site of a demo's home.

    Dagster runs as soon as its UI answers.
    """
    home = home.resolve()
    commands = list(_commands(home))
    site = next((pid for pid, words in commands if _SITE in words), None)
    # The first: it forks, and a fork has the same command line.
    pid, ui = next(((pid, ui) for pid, words in commands if (ui := Ui.of(words))), (None, None))
    if ui is None:
        lines = [ServiceStatus("dagster", "", "stopped", "")]
    else:
        kind = "dev" if site is None else "demo"
        lines = [ServiceStatus("dagster", kind, "running" if ui.answers() else "starting", ui.url, pid)]
    found = recall(home)
    if found is not None:
        first = HOSTS[0].key
        state: Condition = "stopped"
        if site is not None:
            state = "running" if is_listening(found.ports[first]) else "starting"
        lines.append(ServiceStatus("demo site", "http", state, found.url(first, "/") if site else "", site))
    return lines


def _commands(home: Path) -> Iterator[tuple[int, list[str]]]:
    """Process ids and command lines, the oldest process first."""
    for one in sorted(family.members(home), key=lambda one: one.created_s):
        with contextlib.suppress(psutil.Error):
            yield one.pid, psutil.Process(one.pid).cmdline()
