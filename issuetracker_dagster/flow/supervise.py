"""Which worker runs are dead, and which slots need a new one: a pure decision over runs and signs of life."""

from collections.abc import Mapping, Sequence

import msgspec

from issuetracker_dagster.ports.locks import Heartbeat


class WorkerRun(msgspec.Struct, frozen=True):
    """A run that claims a slot and hasn't ended. `started_ms` is None until its process has begun."""

    run_id: str
    stage: str
    slot: int
    created_ms: int
    started_ms: int | None


class Plan(msgspec.Struct, frozen=True):
    """Runs to fail (with why), and slots to fill."""

    fail: tuple[tuple[str, str], ...]
    launch: tuple[int, ...]
    healthy: tuple[str, ...] = ()


START_LIMIT_MS = 180_000
"""A run that hasn't begun by then never will: its process died before its first word."""

FIRST_SIGN_MS = 60_000
"""The least time a run has from its start to its first heartbeat: on a busy machine it still builds its parts."""


def first_sign_limit_ms(dead_after_ms: int) -> int:
    """How long a run may be without any heartbeat after its start, in milliseconds."""
    return max(FIRST_SIGN_MS, 4 * dead_after_ms)


def plan_slots(
    stage: str,
    runs: Sequence[WorkerRun],
    beats: Sequence[Heartbeat],
    *,
    slots: int,
    now_ms: int,
    store_now_ms: int,
    dead_after_ms: int,
) -> Plan:
    """What to do about a stage that wants `slots` runs.

    `now_ms` is the clock of `created_ms` and `started_ms`, `store_now_ms` that of the heartbeats. Only call it with
    heartbeats that could be read: unreadable ones must change nothing. Of two runs on a slot the older one stays.
    `dead_after_ms` bounds the silence of a run that has shown signs of life; the first one may take longer.
    """
    by_run: Mapping[str, Heartbeat] = {beat.run_id: beat for beat in beats}
    fail: list[tuple[str, str]] = []
    taken: dict[int, str] = {}
    for run in sorted(runs, key=lambda run: run.created_ms):
        if reason := _why_dead(run, by_run.get(run.run_id), now_ms, store_now_ms, dead_after_ms):
            fail.append((run.run_id, reason))
        elif run.slot in taken:
            fail.append((run.run_id, f"slot {run.slot} of {stage} is held by run {taken[run.slot]}"))
        elif run.slot < slots:
            taken[run.slot] = run.run_id
        # A run on a slot that was configured away ends by itself when its shift is over.
    launch = tuple(slot for slot in range(slots) if slot not in taken)
    return Plan(tuple(fail), launch, tuple(taken.values()))


def _why_dead(run: WorkerRun, beat: Heartbeat | None, now_ms: int, store_now_ms: int, dead_after_ms: int) -> str | None:
    if beat is not None:
        silent_ms = store_now_ms - beat.at_ms
        return f"heartbeat lost {silent_ms // 1000} s ago" if silent_ms > dead_after_ms else None
    if run.started_ms is not None:
        quiet_ms = now_ms - run.started_ms
        # Failing a run that is only slow to begin makes the machine busier, and its successor slower still.
        late = quiet_ms > first_sign_limit_ms(dead_after_ms)
        return f"no sign of life {quiet_ms // 1000} s after its start" if late else None
    waited_ms = now_ms - run.created_ms
    return f"not started after {waited_ms // 1000} s" if waited_ms > START_LIMIT_MS else None
