"""The one place that starts, watches and ends processes; it ends only what it can prove to be the same."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from issuetracker_dagster.errors import IssueTrackerError

_POLL_S = 0.05
_LOG_LIMIT_BYTES = 10 * 1024 * 1024
_SAME_S = 0.05 if psutil.LINUX else 1.0
# In the environment of everything that `dagster dev` of a home starts; see `family`.
FAMILY_MARK = "ISSUETRACKER_DEV_FAMILY"


class StartFailed(IssueTrackerError):
    """A service didn't become ready; the text has the end of its log."""


@dataclass(frozen=True)
class Identity:
    """A process that can't be mistaken for a later one with the same pid, however the clock is set meanwhile.

    `created_s` is its start in seconds since that of the machine; on systems other than Linux, in Unix seconds.
    """

    pid: int
    created_s: float

    @classmethod
    def of(cls, pid: int) -> "Identity":
        """The identity of a running process; psutil.NoSuchProcess when there is none."""
        return cls(pid, _created_s(psutil.Process(pid)))


# Popen objects of children that this interpreter started: they must be waited for, or they stay as zombies.
_started_here: dict[Identity, subprocess.Popen[bytes]] = {}


def spawn(
    argv: Sequence[str],
    *,
    log: Path | None,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    hold: int | None = None,
) -> Identity:
    """Start a program as leader of its own session (a Ctrl-C in the terminal doesn't reach it), logging to a file.

    A log of more than 10 MiB is put aside first, in place of the one put aside before. Without `log` the program
    writes where this process writes. `hold` is a descriptor that it inherits: a lock taken on it lasts until the
    program has ended, whatever becomes of the one that started it.
    """
    with contextlib.ExitStack() as stack:
        out = None
        if log is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            _put_aside(log)
            out = stack.enter_context(log.open("ab"))
        child = subprocess.Popen(  # noqa: S603 - argv comes from this package, never through a shell
            list(argv),
            cwd=cwd,
            env=dict(env) if env is not None else _own_environment(),
            user=user,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=None if out is None else subprocess.STDOUT,
            start_new_session=True,
            pass_fds=() if hold is None else (hold,),
        )
    try:
        identity = Identity.of(child.pid)
    except psutil.NoSuchProcess:
        identity = Identity(child.pid, 0.0)
    _started_here[identity] = child
    return identity


def _put_aside(log: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_LIMIT_BYTES:
            log.replace(log.with_suffix(".log.1"))


def is_alive(identity: Identity) -> bool:
    """Whether exactly this process still runs; a zombie or a stranger with its pid doesn't count."""
    child = _started_here.get(identity)
    if child is not None:
        # Only waiting for it tells: the first thread of a JVM is a zombie while the others still hold ports and files.
        return child.poll() is None
    try:
        found = psutil.Process(identity.pid)
        return abs(_created_s(found) - identity.created_s) < _SAME_S and found.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_ready(identity: Identity, ready: Callable[[], bool], *, name: str, log: Path, timeout_s: float) -> None:
    """Return when `ready()` is true. Raises StartFailed, with the end of the log, when it ends or time is up."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if not is_alive(identity):
            raise StartFailed(f"{name} ended while starting. The end of {log}:\n{tail(log)}")
        if time.monotonic() > deadline:
            raise StartFailed(f"{name} wasn't ready after {timeout_s:.0f} s. The end of {log}:\n{tail(log)}")
        time.sleep(_POLL_S)


def stop(identity: Identity, *, grace_s: float = 15.0, first: signal.Signals = signal.SIGTERM) -> bool:
    """End this process and its group: `first`, then SIGKILL after `grace_s`. True when it left by itself in time.

    A process that isn't the one that was started is left alone.
    """
    if not is_alive(identity):
        return True
    _signal_group(identity.pid, first)
    if gone_within(identity, grace_s):
        return True
    _signal_group(identity.pid, signal.SIGKILL)
    gone_within(identity, 5.0)
    return False


def gone_within(identity: Identity, timeout_s: float) -> bool:
    """Wait for the end of this process, at most `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while is_alive(identity):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def exit_code(identity: Identity) -> int:
    """The exit code of an ended process that this one started; -1 when it isn't known."""
    child = _started_here.get(identity)
    code = None if child is None else child.poll()
    return -1 if code is None else code


def tail(log: Path, lines: int = 15) -> str:
    """The last lines of a log file; empty when it can't be read."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def _created_s(process: psutil.Process) -> float:
    # Linux knows the seconds since the machine's start. psutil adds that start by the clock of the moment: after a step
    # of the clock every process would look like another one. Only a Process that was made just now has that of now.
    created_s = process.create_time()
    return round(created_s - psutil.boot_time(), 2) if psutil.LINUX else created_s


def _own_environment() -> dict[str, str]:
    # A service that is started from inside a run must not be taken for a part of that `dagster dev`.
    return {name: value for name, value in os.environ.items() if name != FAMILY_MARK}


def _signal_group(pid: int, number: signal.Signals) -> None:
    # spawn() made the process the leader of its group, so the group's id is the pid as long as the leader lives.
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(pid) == pid:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
