"""How tests are dealt out to several processes, each with servers of its own (`pytest -n`), and what a lost one means.

Hooks of pytest and xdist; `conftest.py` takes them in.
"""

from pathlib import PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling, Scheduling
from xdist.workermanage import WorkerController

ALONE = ("journey/demo", "lifecycle")
"""Folders whose tests need the machine to themselves; elsewhere a test says so by its mark."""
ONE_BY_ONE = ("faults", "journey")
"""Folders of long tests that share nothing but the servers: each test goes to whichever process is free."""


class ByFile(LoadScopeScheduling):  # type: ignore[misc]
    """A file goes to one process as a whole, for what its tests share; long tests that share nothing go one by one."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if is_below(file, ONE_BY_ONE) and not is_below(file, ALONE) else file


def is_below(file: str, folders: tuple[str, ...]) -> bool:
    """Whether a file, as pytest names it, lies in one of these folders of the tests."""
    return any(PurePosixPath("tests", folder) in PurePosixPath(file).parents for folder in folders)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what runs alone; several processes begin with what may take longest, so that none is late at the end."""
    for item in items:
        if is_below(item.nodeid, ALONE):
            item.add_marker(pytest.mark.alone)
    if hasattr(config, "workerinput"):
        items.sort(key=_most_s, reverse=True)


def _most_s(item: pytest.Item) -> float:
    if item.get_closest_marker("slow") is None:
        return 0.0
    bound = item.get_closest_marker("timeout")
    return float(bound.args[0]) if bound and bound.args else 1.0


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Ours where the command line asks for no other (`-n` alone means `--dist load`)."""
    if config.getoption("dist") != "load":
        return None
    config.option.loadscopereorder = False  # by the number of tests; the order of collection says more
    return ByFile(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController, error: object | None) -> None:
    """A process that was lost fails the run even when it was between two tests, which xdist alone lets pass."""
    if error:
        node.config.stash[_LOST] = True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.stash.get(_LOST, False) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


_LOST = pytest.StashKey[bool]()
