"""Ends what a Dagster that is gone left behind: `python -m issuetracker_dagster.defs.left_over`, before another one
starts on the same instance, as `issuetracker dev` does.

The processes of those runs are gone, but Dagster shows them at work for ever. Supervisors tell by their silence, which
takes up to three minutes where a run was still beginning; nobody would tell of the runs of other jobs.
"""

import logging

import dagster as dg
from dagster._core.storage.runs import SqliteRunStorage

WHY = "its process is gone: it was killed, interrupted while it was starting, or lost its machine"
BEGUN = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""A queued run isn't among them: no process has it yet, and the next daemon starts it."""


def end_left_over(instance: dg.DagsterInstance) -> list[str]:
    """Fail every run that had begun, have those be canceled that somebody had terminated; returns their ids.

    Only while nothing of Dagster runs on this instance. One whose storage other machines may share is left alone.
    """
    if not isinstance(instance.run_storage, SqliteRunStorage):
        return []
    found = instance.get_runs(dg.RunsFilter(statuses=BEGUN))
    for run in found:
        if run.status is dg.DagsterRunStatus.CANCELING:
            instance.report_run_canceled(run, WHY)
        else:
            instance.report_run_failed(run, WHY)
    return [run.run_id for run in found]


def main() -> None:
    """For the instance of DAGSTER_HOME; prints how many there were."""
    logging.disable(logging.ERROR)  # Dagster prints each of them again, as an error of somebody's code
    with dg.DagsterInstance.get() as instance:
        print(len(end_left_over(instance)))


if __name__ == "__main__":
    main()
