"""`make quality`: the parser beside its peers on recorded pages, charsets and feeds; fails below a floor.

Exit code: 0 when every figure holds, 1 when one doesn't, 2 when the recorded data isn't there.
"""

import argparse
import json
import logging
import statistics
import sys
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path

from benchmarks.quality import files, readers
from benchmarks.quality.figures import Run, broken, fallen, floors, kept_pages, korean, runs
from benchmarks.quality.recorded import COLLECTIONS, FOLDER, Page, pages
from benchmarks.quality.scoring import mean_score

OURS = "issuetracker"
MEASURE = "trafilatura"
PAGES = Path(__file__).with_name("pages.json")
FIELDS = ("title", "authors", "day", "instant")


def main() -> int:
    """Measure, print, compare."""
    options = _options()
    if not (options.data / "articles").is_dir():
        print(f"The recorded pages aren't at {options.data}; name their folder with --data.", file=sys.stderr)
        return 2
    logging.disable(logging.CRITICAL)
    taken = {name: list(pages(name, options.data)) for name in COLLECTIONS}
    beside = {} if options.alone else readers.peers()
    measured = {name: runs(taken[name], {OURS: readers.parser, **beside}, _progress(name)) for name in COLLECTIONS}
    counts = {"encodings": files.encodings(options.data), "feeds": files.feeds(options.data)}
    figures = _figures(taken, measured) | {name: count.share for name, count in counts.items()}
    _print_table(measured)
    _print_rest(figures, counts)
    now = {
        name: {page: round(score.f1, 4) for page, score in measured[name][OURS].scores.items()} for name in COLLECTIONS
    }
    _print_fallen(now)
    if options.accept:
        PAGES.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"accepted: {PAGES.name} holds the pages of this run")
    told = broken(figures, floors()) if beside else []
    for sentence in told:
        print(f"BELOW: {sentence}")
    print("not every floor holds" if told else "every floor holds" if beside else "floors aren't judged without peers")
    return 1 if told else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make quality", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=FOLDER, help="folder of the recorded data (default: %(default)s)")
    parser.add_argument("--alone", action="store_true", help="leave the peers out; quicker, floors aren't judged")
    parser.add_argument("--accept", action="store_true", help="keep this run's pages as what later runs compare with")
    return parser.parse_args()


def _progress(collection: str) -> Callable[[str], None]:
    count = 0

    def tell(_: str) -> None:
        nonlocal count
        count += 1
        if count % 25 == 0:
            print(f"{collection}: {count} pages", file=sys.stderr, flush=True)

    return tell


def _figures(taken: Mapping[str, list[Page]], measured: Mapping[str, Mapping[str, Run]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, by_reader in measured.items():
        ours = by_reader[OURS]
        figures[f"{name} body F1"] = ours.body.f1
        figures |= {f"{name} {field}": share for field, share in ours.fields.items()}
        if best := max((run.body.f1 for reader, run in by_reader.items() if reader != OURS), default=0.0):
            figures[f"{name} lead over the best peer"] = ours.body.f1 - best
    hangul = list(chain.from_iterable(korean(taken[name], measured[name][OURS]) for name in COLLECTIONS))
    figures["Korean body F1"] = mean_score(hangul).f1
    figures["Korean worst page F1"] = min((score.f1 for score in hangul), default=0.0)
    if all(MEASURE in by_reader for by_reader in measured.values()):
        figures["CPU of trafilatura"] = _median_ms(measured, OURS) / _median_ms(measured, MEASURE)
    return figures


def _median_ms(measured: Mapping[str, Mapping[str, Run]], reader: str) -> float:
    return 1000 * statistics.median(chain.from_iterable(by_reader[reader].cpu_s for by_reader in measured.values()))


def _print_table(measured: Mapping[str, Mapping[str, Run]]) -> None:
    for name, by_reader in measured.items():
        count = len(by_reader[OURS].scores)
        print(f"\n{name}, {count} pages\n{'':24}{'body F1':>9}{'P':>8}{'R':>8}", end="")
        has_fields = bool(by_reader[OURS].fields)
        print("".join(f"{field:>9}" for field in FIELDS) if has_fields else "", f"{'CPU ms':>8}")
        for reader, run in by_reader.items():
            body = run.body
            print(f"{reader:24}{body.f1:9.4f}{body.precision:8.4f}{body.recall:8.4f}", end="")
            print(
                "".join(f"{run.fields[field]:9.3f}" for field in FIELDS) if has_fields else "", f"{run.median_ms:8.1f}"
            )


def _print_rest(figures: Mapping[str, float], counts: Mapping[str, files.Count]) -> None:
    print()
    for name in ("Korean body F1", "Korean worst page F1", "CPU of trafilatura"):
        if name in figures:
            print(f"{name:24}{figures[name]:9.3f}")
    for name, count in counts.items():
        print(f"{name:24}{count.total - len(count.wrong):>5} of {count.total}")
        for wrong in count.wrong:
            print(f"  {wrong}")


def _print_fallen(now: Mapping[str, Mapping[str, float]]) -> None:
    before = kept_pages(PAGES)
    falls = [(name, *fall) for name in now for fall in fallen(before.get(name, {}), now[name])]
    print(f"\n{len(falls) or 'no'} pages are worse than when they were last accepted")
    for name, page, then, f1 in falls:
        print(f"  {name} {page[:40]:40} {then:.3f} -> {f1:.3f}")


if __name__ == "__main__":
    sys.exit(main())
