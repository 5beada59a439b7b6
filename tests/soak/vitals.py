"""Memory and open files of each process that lives long, and whether they stay flat."""

import statistics
import threading
from collections.abc import Mapping, Sequence

import msgspec
import psutil

from issuetracker_dagster.local.children import Identity

WARM_UP_S = 90.0
"""A process grows while it imports, opens its connections and fills its caches."""
LEAST_S = 150.0
"""One that lived for less than this after its warm-up isn't judged."""
MEMORY_SHARE, MEMORY_MB = 0.10, 10.0
HANDLES_SHARE, HANDLES = 0.05, 8.0
BOUNDS_MB = {"Kafka": 1_000.0}
"""A JVM fills the heap that it may have: its memory is held to heap (512 MB) and what comes beside it."""
RULE = (
    f"after {WARM_UP_S:.0f} s of warm-up the median of the last third of a life is at most "
    f"{MEMORY_SHARE:.0%} + {MEMORY_MB:.0f} MB of memory, {HANDLES_SHARE:.0%} + {HANDLES:.0f} handles above that of the "
    f"middle third; Kafka's memory at most {BOUNDS_MB['Kafka']:.0f} MB; a connection is a handle of who opened it"
)
_MB = 1024 * 1024


class Vitals(msgspec.Struct, frozen=True):
    """One look at a process; `at_s` since the first look."""

    at_s: float
    memory_mb: float
    handles: int


class Life(msgspec.Struct, frozen=True):
    """A process in figures. `growth_*` are of the last third over the middle third."""

    role: str
    pid: int
    lived_s: float
    most_memory_mb: float
    most_handles: int
    judged: bool
    growth_mb: float = 0.0
    growth_handles: float = 0.0
    is_flat: bool = True


class Series:
    """All that was seen of every process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, Identity], list[Vitals]] = {}

    def look(self, processes: Mapping[str, Sequence[Identity]], at_s: float) -> None:
        """Look at these, by role; what is gone meanwhile is left out."""
        for role, members in processes.items():
            for one in members:
                found = measure(one, at_s)
                if found:
                    with self._lock:
                        self._seen.setdefault((role, one), []).append(found)

    def lives(self) -> list[Life]:
        """Every process, by role and start."""
        with self._lock:
            seen = [(role, one, tuple(looks)) for (role, one), looks in self._seen.items()]
        seen.sort(key=lambda each: (each[0], each[2][0].at_s))
        return [judge(role, one.pid, looks) for role, one, looks in seen]


def measure(identity: Identity, at_s: float) -> Vitals | None:
    """The process at this moment; None when it is gone."""
    try:
        process = psutil.Process(identity.pid)
        handles = process.num_fds() - _accepted(process)
        return Vitals(at_s, process.memory_info().rss / _MB, handles)
    except psutil.Error:
        return None


def _accepted(process: psutil.Process) -> int:
    """Connections of living clients. A server has as many as workers live, and who leaks one holds the other end."""
    connections = process.net_connections("tcp")
    ports = {each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN}
    return sum(each.status == psutil.CONN_ESTABLISHED and each.laddr.port in ports for each in connections)


def judge(role: str, pid: int, looks: Sequence[Vitals]) -> Life:
    """Whether a life was flat, by `RULE`."""
    lived_s = looks[-1].at_s - looks[0].at_s
    most = max(look.memory_mb for look in looks), max(look.handles for look in looks)
    warm = [look for look in looks if look.at_s >= looks[0].at_s + WARM_UP_S]
    if lived_s < WARM_UP_S + LEAST_S or len(warm) < 6:
        return Life(role, pid, lived_s, *most, judged=False)
    third = len(warm) // 3
    middle, last = warm[third : 2 * third], warm[2 * third :]
    memory, memory_after = (statistics.median(look.memory_mb for look in part) for part in (middle, last))
    handles, handles_after = (statistics.median(look.handles for look in part) for part in (middle, last))
    return Life(
        role,
        pid,
        lived_s,
        *most,
        judged=True,
        growth_mb=memory_after - memory,
        growth_handles=handles_after - handles,
        is_flat=memory_after <= BOUNDS_MB.get(role, memory * (1 + MEMORY_SHARE) + MEMORY_MB)
        and handles_after <= handles * (1 + HANDLES_SHARE) + HANDLES,
    )
