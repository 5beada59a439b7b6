"""Run benchmarks, print one table, and compare it with what was last recorded in `benchmarks/figures.json`.

Each figure is printed beside the limit that was measured in the same run. "moved" is said of a figure whose median is
further from the recorded one than the recorded runs were from each other.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks import page, recorded
from benchmarks.catalogue import BENCHES
from benchmarks.recorded import FEWEST_RUNS, IDLE_LOAD, Record, record_of
from benchmarks.running import results_of
from benchmarks.setup import this_setup
from benchmarks.table import head, shown, what_moved


def main() -> int:
    """0; with `--check` 1 when a target is missed; 2 when a benchmark failed."""
    options = _options()
    if options.tables:
        page.rewrite(recorded.read())
        return 0
    names = options.names or [name for name, bench in BENCHES.items() if bench.by_default]
    print(this_setup(), flush=True)
    before = recorded.read()
    found = _measured(names, options.runs)
    print(f"\n{head()}")
    for name, record in found.items():
        print("\n".join(shown(name, record, before.get(name))))
    _say_what_moved(found, before)
    if options.save:
        recorded.write({name: record for name, record in found.items() if record.runs >= FEWEST_RUNS})
        page.rewrite(recorded.read())
    missed = [
        f"{name}: {figure}"
        for name, record in found.items()
        for figure, series in record.figures.items()
        if not series.is_met
    ]
    print("\n".join(f"MISSED  {one}" for one in missed))
    if len(found) < len(names):
        print(f"FAILED  {', '.join(name for name in names if name not in found)}")
        return 2
    return 1 if options.check and missed else 0


def _options() -> argparse.Namespace:
    listed = "\n".join(
        f"  {name:14}{bench.about}, {bench.minutes:g} min{'' if bench.by_default else '; only when it is named'}"
        for name, bench in BENCHES.items()
    )
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=f"benchmarks and the time that one run takes:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to run; all but the slowest when none is named")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="how often each is run (default %(default)s)")
    parser.add_argument(
        "--save",
        action="store_true",
        help=f"record what is found, in figures.json and README.md's tables; needs --runs {FEWEST_RUNS} or more",
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--tables", action="store_true", help="only write README.md's tables anew from figures.json")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHES]
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    if options.runs < 1:
        parser.error("--runs must be 1 or more")
    if options.save and options.runs < FEWEST_RUNS:
        parser.error(f"--save needs --runs {FEWEST_RUNS} or more: fewer runs have no spread to compare with")
    return options


def _measured(names: Sequence[str], runs: int) -> dict[str, Record]:
    found: dict[str, Record] = {}
    for place, name in enumerate(names, 1):
        bench = BENCHES[name]
        minutes = f"about {bench.minutes * runs:g} min"
        print(f"{name} ({place} of {len(names)}): {bench.about}; {minutes}", file=sys.stderr, flush=True)
        load = os.getloadavg()[0]
        if load > IDLE_LOAD and place == 1:
            print(
                f"the machine is busy (load {load:.1f}): that takes from figures and limits, but not alike", flush=True
            )
        results = results_of(name, runs)
        if results:
            found[name] = record_of(results, load)
    return found


def _say_what_moved(found: dict[str, Record], before: dict[str, Record]) -> None:
    known = [name for name in found if name in before]
    if not known:
        print("\nnothing was recorded to compare with")
        return
    lines = what_moved(found, before)
    print(f"\nmoved by more than the recorded spread: {', '.join(lines) or 'nothing'}")
    if any(before[name].setup.machine != this_setup().machine for name in known):
        print("the record is of another machine: only ratios can be compared")


if __name__ == "__main__":
    sys.exit(main())
