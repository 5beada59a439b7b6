"""A burst against a slow crawler while everything is killed: `python -m benchmarks.burst [--check] [--jobs 200000]`.

Starts a Valkey (append-only) and a Kafka of its own. Jobs go through the whole publisher into the buffer, a drainer in
a process of its own moves them to Kafka, and a member of the crawler group reads and commits at a bounded rate. The
drainer is killed ten times while it has a batch in hand, Kafka and Valkey once each. A ledger of all that arrived in
Kafka says what became of it. Takes some minutes, so `make bench` leaves it out.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.journey.burst import run_burst
from tests.journey.burst_load import Plan
from tests.journey.ledger import Figures


def main() -> int:
    """Run it, print the ledger, and say whether it kept what is promised (0) or not (1, with `--check` only)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a promise is broken")
    parser.add_argument("--jobs", type=int, default=200_000, help="how many (default %(default)s)")
    parser.add_argument("--target", type=int, default=3_000, help="lag up to which it drains (default %(default)s)")
    parser.add_argument("--rate", type=int, default=1_000, help="jobs a second of the crawler (default %(default)s)")
    options = parser.parse_args()
    plan = Plan(jobs=options.jobs, hosts=300, target=options.target, batch=100, rate=options.rate)
    with tempfile.TemporaryDirectory() as folder:
        figures = run_burst(plan, Path(folder), say)
    return 1 if not kept(plan, figures) and options.check else 0


def kept(plan: Plan, figures: Figures) -> bool:
    """Print each promise with what came of it; True when all were kept."""
    most = (plan.drainer_kills + 2) * plan.batch
    promises = [
        ("ids in Kafka", figures.arrived, f"of {figures.published:,}", figures.arrived == figures.published),
        ("highest lag", figures.highest_lag, f"at most {plan.target + plan.batch:,}",
         figures.highest_lag <= plan.target + plan.batch),
        ("repeated", figures.repeated, f"at most {most:,}, a batch a kill", figures.repeated <= most),
        ("hosts whose order was lost", figures.hosts_out_of_order, f"of {plan.hosts}", not figures.hosts_out_of_order),
        ("went past the buffer", figures.past_the_buffer, "none while Redis is there", not figures.past_the_buffer),
    ]  # fmt: skip
    print()
    for name, figure, bound, met in promises:
        print(f"{name:28}{figure:>10,}  {bound:34}{'kept' if met else 'BROKEN'}")
    print(f"\nthe lag was looked at {figures.lag_looks:,} times; killed: {dict(figures.kills)}")
    print(f"published at {plan.jobs / figures.publish_s:,.0f} jobs/s, all in Kafka after {figures.drain_s:.0f} s")
    print(
        f"from publish to Kafka: {figures.dwell_p50_s:.1f} s (median), {figures.dwell_p95_s:.1f} s (p95), "
        f"{figures.dwell_longest_s:.1f} s at most"
    )
    return all(met for _, _, _, met in promises)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
