"""What purges of Dagster's history have in common, whatever storage it is in: a job that leaves traces, and a sweep."""

import time

import dagster as dg

from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.ports.history import Sweep

DAY_MS = 86_400_000
KEY = dg.AssetKey(["sql", "issues"])


@dg.op
def says_something() -> None:
    print("something")


@dg.job
def short_job() -> None:
    says_something()


def now_ms() -> int:
    return int(time.time() * 1000)


def swept(sweep: Sweep, at_ms: int) -> Removed:
    """What a sweep removes in all, at that time."""
    removed = Removed()
    while (found := sweep.step(at_ms)) is not None:
        removed += found
    return removed
