"""Resolving a priority against 10,000 rules: `python -m benchmarks.resolve [--check]`.

1,000 rules are on one host, the others on hosts with fewer than 20 each. Measured is the whole chain for one job with a
new URL, its parsing included, beside the same chain without any rule. The targets hold for the whole, not for what the
rules add. With `--check` it exits with 1 when a target is missed.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence

from issuetracker_dagster.flow.resolve import CompositePriorityResolver, priority_table, standard_chain
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule

RULES, ON_ONE_HOST, ON_OTHERS, URLS, TURN = 10_000, 1_000, 18, 8_000, 50
SMALL_TARGET_US, LARGE_TARGET_US = 15.0, 150.0
BUSY = "busy.example.com"
KINDS = {
    "anchored": ("^/{word}{n}/", "^/section{n}/"),
    "unanchored": ("/live/.*{word}", "/{word}/.*score", "/{word}-\\d+\\.html$"),
    "mixed": (
        "^/{word}{n}/",
        "/live/.*{word}",
        "^/{word}/\\d{{4}}/\\d{{2}}/",
        "/{word}-\\d+\\.html$",
        "(?i)/{word}{n}$",
    ),
}


def main() -> int:
    """Measure, print, and say whether every target was met (0) or not (1, with `--check` only)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    options = parser.parse_args()
    print(
        f"{RULES:,} rules, {ON_ONE_HOST:,} of them on one host, {ON_OTHERS} on each other one; {URLS:,} URLs a figure\n"
    )
    print(f"{'':34}{'without':>9}{'with':>9}{'ratio':>7}{'adds':>8}{'p99':>8}{'target':>8} (us)")
    met = [line(kind) for kind in KINDS]
    return 1 if options.check and not all(met) else 0


def line(kind: str) -> bool:
    """Build one table and print its figures for hosts of both kinds; True when both targets were met."""
    words = random.Random(7)
    rules = made(kind, words)
    began = time.perf_counter()
    table = priority_table(rules)
    built_s = time.perf_counter() - began
    bare, full = standard_chain(lambda: EMPTY), standard_chain(lambda: table)
    small = figures(bare, full, [jobs(rules[ON_ONE_HOST:], words) for _ in range(3)])
    large = figures(bare, full, [jobs(rules[:ON_ONE_HOST], words) for _ in range(3)])
    met = [
        told(f"{kind}, {ON_OTHERS} rules a host", small, SMALL_TARGET_US),
        told(f"{kind}, {ON_ONE_HOST:,} rules a host", large, LARGE_TARGET_US),
    ]
    print(f"{f'{kind}, building the table':34}{built_s * 1000:>9,.0f} ms")
    return all(met)


EMPTY = priority_table(())


def told(name: str, figure: tuple[float, float, float], target_us: float) -> bool:
    """Print a median without rules and with them, and the slowest of a hundred; True when the target was met."""
    without, with_rules, slow = figure
    verdict = "met" if with_rules <= target_us else "MISSED"
    print(
        f"{name:34}{without:>9.1f}{with_rules:>9.1f}{with_rules / without:>7.1f}"
        f"{with_rules - without:>8.1f}{slow:>8.1f}{target_us:>8.0f} {verdict}"
    )
    return with_rules <= target_us


def figures(
    bare: CompositePriorityResolver, full: CompositePriorityResolver, sets: Sequence[Sequence[CrawlJob]]
) -> tuple[float, float, float]:
    """Medians of resolving one job without and with rules, and the slowest of a hundred with them, in microseconds.

    Three sets of jobs, no URL in two of them, so that no parse is remembered from one to the next: the first is for
    what RE2 builds when it meets the texts of a host, which a process pays once. Both chains take turns, so that a
    noisy moment of the machine falls on both.
    """
    warm, others, judged = sets
    timed(full, warm)
    without: list[float] = []
    with_rules: list[float] = []
    for first in range(0, len(judged), TURN):
        without += timed(bare, others[first : first + TURN])
        with_rules += timed(full, judged[first : first + TURN])
    return statistics.median(without), statistics.median(with_rules), statistics.quantiles(with_rules, n=100)[98]


def timed(chain: CompositePriorityResolver, jobs: Sequence[CrawlJob]) -> list[float]:
    """Microseconds of each."""
    times: list[float] = []
    for one in jobs:
        began = time.perf_counter()
        chain.resolve(one, None)
        times.append((time.perf_counter() - began) * 1e6)
    return times


def made(kind: str, words: random.Random) -> list[PriorityRule]:
    """The rules: first those of the one host, then the others."""
    hosts = [BUSY] * ON_ONE_HOST
    hosts += [f"news{number // ON_OTHERS}.example.com" for number in range(RULES - ON_ONE_HOST)]
    return [
        PriorityRule(
            host=host,
            path=KINDS[kind][number % len(KINDS[kind])].format(word=word(words), n=number),
            priority=Priority(number % 3 + 1),
            rule_id=number,
        )
        for number, host in enumerate(hosts)
    ]


def jobs(rules: Sequence[PriorityRule], words: random.Random) -> list[CrawlJob]:
    """Jobs on the hosts of these rules, each with a path of its own that has something in common with some rule."""
    made: list[CrawlJob] = []
    for rule in words.choices(rules, k=URLS):
        about = words.choice((rule, words.choice(rules)))
        head = "".join(letter for letter in about.path if letter.isalnum() or letter in "/-").strip("/")
        tail = f"{word(words)}/{words.randrange(2026)}/{word(words)}-{words.randrange(10**9)}.html"
        made.append(CrawlJob(url=f"https://{rule.host}/{head}/{tail}"))
    return made


def word(words: random.Random) -> str:
    """A word of a path."""
    return "".join(words.choices("abcdefghijklmnopqrstuvwxyz", k=words.randint(3, 9)))


if __name__ == "__main__":
    sys.exit(main())
