"""`python -m tests.soak`: run the demo under random faults, and print the ledger."""

import argparse
import logging
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

from tests.journey.demo.session import POINTERS
from tests.soak.plan import Kind, plan, told
from tests.soak.report import failures, report
from tests.soak.result import Options
from tests.soak.soak import Soak, forget


def main() -> int:
    """0 when every promise held, 1 when one didn't, 2 when there is no verdict."""
    asked = _arguments()
    seed = secrets.randbelow(100_000) if asked.seed is None else asked.seed
    faults = plan(seed, asked.minutes, asked.faults_per_minute, [Kind(word) for word in asked.only or ()])
    print(f"seed {seed}: {len(faults)} faults in {asked.minutes:g} minutes", flush=True)
    if asked.plan:
        print(*told(faults), sep="\n")
        return 0
    for name in POINTERS:
        os.environ.pop(name, None)
    folder = Path(tempfile.mkdtemp(prefix="issuetracker-soak-")) if asked.home is None else asked.home.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} isn't empty; a soak begins in a folder of its own", file=sys.stderr)
        return 2
    # What the publisher of the soak says about the faults that it meets; the progress stays readable.
    logging.basicConfig(filename=folder / "publisher.log", format="%(asctime)s %(levelname)s %(message)s")
    soak = Soak(folder, Options(faults, asked.minutes, asked.jobs_per_second, asked.drain_minutes * 60), _say)
    try:
        result = soak.run()
    except (AssertionError, KeyboardInterrupt) as error:
        print(f"no verdict: {str(error) or 'interrupted'}; everything is kept in {folder}", file=sys.stderr)
        return 2
    lines = list(report(result))
    print(f"\nseed {seed}", *lines, sep="\n", flush=True)
    if failures(result):
        amiss = [*result.judgement.lost, *result.judgement.otherwise]
        (folder / "report.txt").write_text("\n".join(lines) + "\n")
        (folder / "amiss.txt").write_text("".join(f"{one}\n" for one in amiss))
        print(f"everything is kept in {folder}; `python -m tests.soak --seed {seed}` throws the same faults again")
        return 1
    if asked.home is None:
        forget(folder)
    return 0


def _arguments() -> argparse.Namespace:
    asking = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    asking.add_argument("--minutes", type=float, default=30.0, help="how long faults are thrown; default %(default)s")
    asking.add_argument("--seed", type=int, help="the same seed, the same faults; default: one by chance, printed")
    asking.add_argument("--faults-per-minute", type=float, default=4.0, metavar="N", help="default %(default)s")
    asking.add_argument("--jobs-per-second", type=float, default=2.0, metavar="N", help="default %(default)s")
    asking.add_argument("--drain-minutes", type=float, default=6.0, metavar="N", help="how long everything may drain")
    asking.add_argument("--home", type=Path, help="an empty folder to work in and keep; default: a temporary one")
    kinds = [kind.value for kind in Kind]
    asking.add_argument("--only", nargs="+", choices=kinds, metavar="KIND", help=f"of {', '.join(kinds)}")
    asking.add_argument("--plan", action="store_true", help="print the plan of faults and end")
    return asking.parse_args()


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
