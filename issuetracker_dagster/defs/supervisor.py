"""Keeps the runs of a job's slots alive: gathers runs and signs of life, has `plan_slots` decide, and does it.

A killed worker stays STARTED for ever in Dagster, so only its silence in Redis tells; when Redis itself can't be read,
nothing is failed.
"""

import math
from collections.abc import Mapping, Sequence

import dagster as dg
import msgspec

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.supervise import Plan, WorkerRun, plan_slots
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import Heartbeat, Heartbeats

SLOT_TAG = "issuetracker/slot"
GRACE_S = 30.0
LIVE = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
SHORT_LIVED_MS = 60_000
FAILURES_LOOKED_AT = 50
FIRST_WAIT_MS, LONGEST_WAIT_MS = 10_000, 300_000


class SlotJob(msgspec.Struct, frozen=True):
    """A job whose slots are kept filled: its name, the name under which its runs give signs of life, the tags of its
    runs, the op whose config names the slot, if one does, and what people call such a run."""

    name: str
    beats_as: str
    tags: Mapping[str, str] = {}
    op_name: str | None = None
    noun: str = "shift"


class Supervisor:
    """The supervisor of a job. It remembers, from tick to tick, since when it can read heartbeats and whom it saw
    alive."""

    def __init__(self, job: SlotJob, *, dead_after_ms: int) -> None:
        self._job = job
        self._dead_after_ms = dead_after_ms
        self._unreadable_at = -math.inf
        self._listens_since_ms: int | None = None
        self._seen: dict[str, Heartbeat] = {}
        self._known_since: dict[str, int] = {}
        self._started_since: dict[str, int] = {}

    def tick(
        self, instance: dg.DagsterInstance, heartbeats: Heartbeats, clock: Clock, *, slots: int
    ) -> list[dg.RunRequest] | dg.SkipReason:
        """Fail the dead, ask for what is missing of `slots` runs. Raises `Unavailable`, with nothing changed."""
        try:
            beats, store_now_ms = heartbeats.alive(self._job.beats_as), heartbeats.now_ms()
        except Unavailable:
            self._unreadable_at = clock.monotonic()
            self._listens_since_ms = None
            raise
        self._listens_since_ms = store_now_ms if self._listens_since_ms is None else self._listens_since_ms
        if clock.monotonic() - self._unreadable_at < GRACE_S:
            return dg.SkipReason(
                f"heartbeats could just be read again; workers get {GRACE_S:.0f} s to show signs of life"
            )
        now_ms = clock.now_ms()
        runs = self._none_of_the_future(worker_runs(instance, self._job), now_ms)
        plan = plan_slots(
            self._job.beats_as,
            runs,
            self._remember(beats, runs),
            slots=slots,
            now_ms=now_ms,
            store_now_ms=store_now_ms,
            dead_after_ms=self._dead_after_ms,
        )
        fail_runs(instance, plan)
        if not plan.launch:
            alive = len(plan.healthy)
            return dg.SkipReason(f"{alive} {self._job.noun}{'' if alive == 1 else 's'} alive")
        waits = {slot: wait_ms(short_lives(instance, self._job, slot), now_ms) for slot in plan.launch}
        due = [slot for slot, wait in waits.items() if not wait]
        if not due:
            return dg.SkipReason(
                f"the last runs of {self._job.beats_as} failed soon after their start; the next one begins in "
                f"{math.ceil(min(waits.values()) / 1000)} s. The newest failed run of {self._job.name} says why"
            )
        return [run_request(self._job, slot) for slot in due]

    def _none_of_the_future(self, runs: Sequence[WorkerRun], now_ms: int) -> list[WorkerRun]:
        """Runs as old as their records say, or as long as they are known here since this machine's clock was put back.

        Otherwise a dead run without a heartbeat would keep its slot until the clock has caught up. Creation and start
        are known each since its own tick: the imports between them are no silence of a started run.
        """
        started = [run for run in runs if run.started_ms is not None]
        self._known_since = _first_seen(self._known_since, runs, now_ms)
        self._started_since = _first_seen(self._started_since, started, now_ms)
        return [
            msgspec.structs.replace(
                run,
                created_ms=min(run.created_ms, self._known_since[run.run_id]),
                started_ms=None if run.started_ms is None else min(run.started_ms, self._started_since[run.run_id]),
            )
            for run in runs
        ]

    def _remember(self, beats: Sequence[Heartbeat], runs: Sequence[WorkerRun]) -> Sequence[Heartbeat]:
        """The latest sign of life of each run, or when this began to listen, if that is later.

        A second run on a slot overwrites the heartbeat of the first, and a Redis that lost its data has none of any:
        either would look like silence. So would an outage that the supervisor before this one saw: code that is loaded
        anew remembers nothing of it.
        """
        self._seen.update({beat.run_id: beat for beat in beats})
        live = {run.run_id for run in runs}
        self._seen = {run_id: beat for run_id, beat in self._seen.items() if run_id in live}
        since_ms = self._listens_since_ms or 0
        return [msgspec.structs.replace(beat, at_ms=max(beat.at_ms, since_ms)) for beat in self._seen.values()]


def _first_seen(before: Mapping[str, int], runs: Sequence[WorkerRun], now_ms: int) -> dict[str, int]:
    """Since when each of `runs` is seen, never later than now; those that are gone are forgotten."""
    return {run.run_id: min(before.get(run.run_id, now_ms), now_ms) for run in runs}


def worker_runs(instance: dg.DagsterInstance, job: SlotJob) -> list[WorkerRun]:
    """Unfinished runs of a job, those started by hand included."""
    records = instance.get_run_records(dg.RunsFilter(job_name=job.name, statuses=LIVE))
    return [
        WorkerRun(
            run_id=record.dagster_run.run_id,
            stage=job.beats_as,
            slot=slot_of(record.dagster_run),
            created_ms=int(record.create_timestamp.timestamp() * 1000),
            started_ms=int(record.start_time * 1000) if record.start_time else None,
        )
        for record in records
    ]


def holder_of_slot(instance: dg.DagsterInstance, job: SlotJob, run_id: str) -> str | None:
    """The run that began before this one on its slot and hasn't ended; None when the slot is this one's.

    Supervisors never ask for a slot that is taken, but each knows only what it saw: two daemons on one instance, or
    somebody who starts a shift by hand, make a second one. The supervisor would end it, some seconds too late.
    """
    begun = {run.run_id: run for run in worker_runs(instance, job) if run.started_ms is not None}
    own = begun.pop(run_id, None)
    if own is None:
        return None
    order = own.started_ms, run_id
    return next(
        (run.run_id for run in begun.values() if run.slot == own.slot and (run.started_ms, run.run_id) < order), None
    )


def slot_of(run: dg.DagsterRun) -> int:
    """The slot that a run's tag names; slot 0 for a run started by hand, without the tag or with anything in it."""
    tag = run.tags.get(SLOT_TAG, "")
    return int(tag) if tag.isascii() and tag.isdigit() else 0


def fail_runs(instance: dg.DagsterInstance, plan: Plan) -> None:
    """Mark dead runs as failed; one that is alive after all sees it and ends itself."""
    for run_id, reason in plan.fail:
        run = instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            instance.report_run_failed(run, reason)


def short_lives(instance: dg.DagsterInstance, job: SlotJob, slot: int) -> list[int]:
    """When (Unix ms) the latest runs on a slot failed within a minute of their start, back to the last one that
    lasted; newest first."""
    records = instance.get_run_records(
        dg.RunsFilter(job_name=job.name, tags={SLOT_TAG: str(slot)}), limit=FAILURES_LOOKED_AT
    )
    ends: list[int] = []
    for record in records:
        lasted_s = (record.end_time or 0) - (record.start_time or record.create_timestamp.timestamp())
        failed = record.dagster_run.status is dg.DagsterRunStatus.FAILURE
        if not failed or not record.end_time or lasted_s * 1000 > SHORT_LIVED_MS:
            break
        ends.append(int(record.end_time * 1000))
    return ends


def wait_ms(failed_at_ms: Sequence[int], now_ms: int) -> int:
    """How long a slot still waits before its next run: nothing after one failure, then 10 s, doubled up to 5 minutes.

    Without it a handler that can't be built would cost a run every few seconds, for ever.
    """
    if len(failed_at_ms) < 2:
        return 0
    pause_ms = min(LONGEST_WAIT_MS, FIRST_WAIT_MS << min(len(failed_at_ms) - 2, 10))
    return min(pause_ms, max(0, max(failed_at_ms) + pause_ms - now_ms))  # a clock that was put back adds nothing


def run_request(job: SlotJob, slot: int) -> dg.RunRequest:
    """Ask for a run on a slot."""
    # No run_key: one is idempotent for ever, and a slot has to be filled again and again.
    return dg.RunRequest(
        job_name=job.name,
        run_config={"ops": {job.op_name: {"config": {"slot": slot}}}} if job.op_name else {},
        tags={**job.tags, SLOT_TAG: str(slot)},
    )
