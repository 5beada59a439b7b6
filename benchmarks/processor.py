"""Who used how much of the processor: the processes of a pipeline by what they are."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

import psutil

from benchmarks.pipeline import Pipeline
from issuetracker_dagster.local import family
from issuetracker_dagster.local.children import Identity

DAEMON, CODE_SERVER, WEBSERVER, SHIFTS, COMMAND = "daemon", "code server", "webserver", "shifts", "command"
_CODE_SERVER = "dagster api grpc"
_TRACKER = "multiprocessing.resource_tracker"
"""What Python starts beside processes that are spawned; it does nothing."""
_MARKS = {_CODE_SERVER: CODE_SERVER, "dagster._daemon": DAEMON, "dagster_webserver": WEBSERVER}


def seconds_by_role(pipeline: Pipeline) -> Mapping[str, float]:
    """Processor seconds, since their start, of all that lives and of children that have ended.

    What a run starts for itself, such as extraction processes, counts as its own.
    """
    found: dict[str, float] = defaultdict(float)
    for process, role in _processes(pipeline):
        with contextlib.suppress(psutil.Error):
            found[role] += _used(process)
    return found


def shift_seconds(pipeline: Pipeline) -> Mapping[str, float]:
    """The same of each run that is at work, the drain run included, by pid."""
    found: dict[str, float] = defaultdict(float)
    for process, role in _processes(pipeline):
        with contextlib.suppress(psutil.Error):
            if role == SHIFTS and _TRACKER not in _words(process):
                found[str(_run_of(process))] += _used(process)
    return found


def since(before: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """What each used between two looks."""
    return {name: seconds - before.get(name, 0.0) for name, seconds in now.items()}


def _processes(pipeline: Pipeline) -> Iterator[tuple[psutil.Process, str]]:
    for one in (*family.members(pipeline.home), Identity.of(pipeline.pid)):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(one.pid)
            yield process, _role(process, pipeline.pid)


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def _role(process: psutil.Process, command: int) -> str:
    words = _words(process)
    for mark, role in _MARKS.items():
        if mark in words:
            return role
    return SHIFTS if process.pid != command and _run_of(process) else COMMAND


def _run_of(process: psutil.Process) -> int:
    """The run that this process is or belongs to: whatever a code server starts; 0 for all others."""
    line = [process, *process.parents()]
    for child, parent in pairwise(line):
        if _CODE_SERVER in _words(parent):
            return child.pid
    return 0


def _words(process: psutil.Process) -> str:
    return " ".join(process.cmdline())
