"""A burst against a slow crawler while everything is killed.

On a Valkey (append-only) and a Kafka of its own. Jobs go through the whole publisher into the buffer, a drainer in a
process of its own moves them to Kafka, and a member of the crawler group reads and commits at a bounded rate. The
drainer is killed ten times while it has a batch in hand, Kafka and Valkey once each. A ledger of all that arrived in
Kafka says what became of it.
"""

import tempfile
from pathlib import Path

from benchmarks.figures import Figure, Result, Say
from tests.journey.burst import run_burst
from tests.journey.burst_load import Plan
from tests.journey.ledger import Figures

PLAN = Plan(jobs=200_000, hosts=300, target=3_000, batch=100, rate=1_000)


def measure(say: Say) -> Result:
    """What the ledger says of 200,000 jobs."""
    with tempfile.TemporaryDirectory() as folder:
        found = run_burst(PLAN, Path(folder), say)
    return Result(figures=_figures(PLAN, found), notes=(f"killed: {dict(found.kills)}",))


def _figures(plan: Plan, found: Figures) -> tuple[Figure, ...]:
    def none(name: str, count: int, unit: str) -> Figure:
        return Figure(name=name, value=count, unit=unit, target=0, at_most=True)

    return (
        none("jobs that didn't arrive in Kafka", found.published - found.arrived, "jobs"),
        none("hosts whose order was lost", found.hosts_out_of_order, "hosts"),
        none("jobs that went past the buffer", found.past_the_buffer, "jobs"),
        Figure(name="highest lag", value=found.highest_lag, unit="jobs", target=plan.target + plan.batch, at_most=True),
        Figure(
            name="repeated, at most a batch a kill",
            value=found.repeated,
            unit="jobs",
            target=(plan.drainer_kills + 2) * plan.batch,
            at_most=True,
        ),
        Figure(name="published", value=plan.jobs / found.publish_s, unit="jobs/s"),
        Figure(name="all in Kafka after", value=found.drain_s, unit="s", at_most=True),
        Figure(name="from publish to Kafka, p95", value=found.dwell_p95_s, unit="s", at_most=True),
    )
