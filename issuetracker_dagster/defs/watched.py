"""Runs of the jobs that have no slots: they give signs of life too, and one whose process was killed is failed.

Dagster would show it at work for ever, and it would hold its place in the run queue.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import dagster as dg

from issuetracker_dagster.defs.supervisor import LIVE, SlotJob, Supervisor
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.locks import Heartbeats
from issuetracker_dagster.wiring.lifesigns import signs_of_life
from issuetracker_dagster.wiring.parts import Wiring

BY_HAND = "__ASSET_JOB"
"""The job of whatever is materialised or checked from an asset's page; Dagster names it."""
PLACES = 20_000
DEAD_AFTER_MS = 120_000
"""Longer than for a shift, since nobody waits for the place of such a run. Two that share one by chance overwrite each
other's signs, and within that time those of both are seen."""


@contextmanager
def watched(wiring: Wiring, run: dg.DagsterRun) -> Iterator[None]:
    """Have that run give signs of life while the block lasts; where there is no Redis nobody fails it for its silence.

    Several runs of a job may be at work, so each has a place of its own, out of a bounded number: none is taken away.
    """
    with ExitStack() as stack:
        with suppress(Unavailable):
            stack.enter_context(signs_of_life(wiring, run.job_name, int(run.run_id[:8], 16) % PLACES, run.run_id))
        yield


class Watch:
    """Fails silent runs of `jobs`, each tick. Remembers what a `Supervisor` remembers."""

    def __init__(self, jobs: Iterable[str]) -> None:
        self._supervisors = {job: Supervisor(SlotJob(job, beats_as=job), dead_after_ms=DEAD_AFTER_MS) for job in jobs}

    def tick(self, instance: dg.DagsterInstance, heartbeats: Heartbeats, clock: Clock) -> None:
        """Nothing is failed while signs of life can't be read; raises `Unavailable` then."""
        # Nearly always there is no such run, and a question to Dagster's storage opens a connection: one for all jobs.
        live = {record.dagster_run.job_name for record in instance.get_run_records(dg.RunsFilter(statuses=LIVE))}
        for job in live & self._supervisors.keys():
            self._supervisors[job].tick(instance, heartbeats, clock, slots=0)
