"""All processes of one `dagster dev`: its daemon, code servers and runs, however far they have moved from their parent.

They are known by a variable in the environment they were started with: children of children inherit it, and orphans
keep it, while process groups and parents change.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import psutil

from issuetracker_dagster.local.children import FAMILY_MARK, Identity, is_alive

_POLL_S = 0.25
TICK_S = 12.0
"""What a tick at work is given to end, longer than INTAKE_TICK_BUDGET: one that is killed leaves its lock behind, and
the next start would wait for that to run out. And what the daemon is given, which may be starting a run."""
_CODE_SERVER = ("dagster", "api", "grpc")
_TICKING = (_CODE_SERVER, ("dagster._daemon", "run"))
_IDLE = (
    ("dagster_webserver",),
    ("dagster", "code-server"),
    ("issuetracker_dagster.local.quiet_dagster",),
)


def members(home: Path) -> list[Identity]:
    """Every living process of a `dagster dev` of this home."""
    found: list[Identity] = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if (
                one.pid != os.getpid()
                and one.environ().get(FAMILY_MARK) == str(home)
                and one.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(Identity.of(one.pid))
    return found


def code_servers(home: Path) -> list[Identity]:
    """Those of its processes that hold the code location, the youngest last: after a reload an older one lives on as
    long as its runs."""
    found = [one for one in members(home) if _has(_words(one), _CODE_SERVER)]
    return sorted(found, key=lambda one: one.created_s)


def code_environment(home: Path) -> Mapping[str, str] | None:
    """The variables of the youngest code server, by which its sensors go; None where none runs.

    Other members are no witnesses: the demo's site and the exporter are started without them.
    """
    for one in reversed(code_servers(home)):
        with contextlib.suppress(psutil.Error, OSError):
            return psutil.Process(one.pid).environ()
    return None


def end(
    home: Path, *, grace_s: float, hurry: Callable[[], bool] = lambda: False, spared: Collection[Identity] = ()
) -> int:
    """Interrupt the family once, as Ctrl-C in a terminal would, wait, and kill who is left, except for `spared`.

    Runs use the time, at most `grace_s`, to finish what they hold, ticks `TICK_S`. Dagster's other servers hold nothing
    and aren't waited for: on a busy machine they take half a minute to end.
    `hurry` turning true ends the wait. Returns how many runs had to be killed.
    """
    began = time.monotonic()
    told: set[Identity] = set()
    while left := _without(members(home), spared):
        for one in left:
            # Also who was forked after the first look, or a run that had just been launched would begin its work.
            if one not in told and not _ends_with_its_parent(one):
                _send(one, signal.SIGINT)
        told.update(left)
        passed_s = time.monotonic() - began
        if hurry() or passed_s >= grace_s or not any(_is_waited_for(one, passed_s) for one in left):
            break
        time.sleep(_POLL_S)
    killed: set[Identity] = set()
    # One that was forked between two looks is caught by the next.
    while left := _without(members(home), spared):
        killed.update(one for one in left if not (_is_idle(one) or _is_ticking(one)))
        for one in left:
            _send(one, signal.SIGKILL)
        time.sleep(_POLL_S)
    return len(killed)


def _without(found: Sequence[Identity], spared: Collection[Identity]) -> list[Identity]:
    return [one for one in found if one not in spared]


def _is_waited_for(identity: Identity, passed_s: float) -> bool:
    return not _is_idle(identity) and (passed_s < TICK_S or not _is_ticking(identity))


def _is_ticking(identity: Identity) -> bool:
    """Whether this is one of Dagster's own in which ticks are at work, or which waits for them."""
    words = _words(identity)
    return any(_has(words, server) for server in _TICKING)


def _is_idle(identity: Identity) -> bool:
    """Whether this is one of Dagster's own that holds nothing, or a watcher that ends with those it watches."""
    words = _words(identity)
    is_watcher = any("multiprocessing.resource_tracker" in word for word in words) or _ends_with_its_parent(identity)
    return is_watcher or any(_has(words, server) for server in _IDLE)


def _ends_with_its_parent(identity: Identity) -> bool:
    """Dagster's own watchers of orphans; an interrupt would only have each of them print a traceback."""
    return any(word.endswith("watch_orphans.py") for word in _words(identity))


def _words(identity: Identity) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(identity.pid).cmdline()
    return []


def _has(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether the wanted words stand in a row in a command line."""
    return any(tuple(words[at : at + len(wanted)]) == tuple(wanted) for at in range(len(words)))


def _send(identity: Identity, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        if is_alive(identity):
            os.kill(identity.pid, number)
