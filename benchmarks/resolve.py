"""Resolving a priority against 10,000 rules.

1,000 rules are on one host, the others on hosts with fewer than 20 each. Measured is the whole chain for one job with a
new URL, its parsing included, beside the same chain without any rule. The targets hold for the whole, not for what the
rules add.
"""

import random
import statistics
import time
from collections.abc import Sequence

from benchmarks.figures import Figure, Result, Say, centile
from benchmarks.rule_load import KINDS, jobs_for, resolving_us, rules_for
from issuetracker_dagster.flow.resolve import CompositePriorityResolver, priority_table, standard_chain
from issuetracker_dagster.model.payload import CrawlJob

RULES, ON_ONE_HOST, ON_OTHERS, URLS, TURN = 10_000, 1_000, 18, 8_000, 50
SMALL_TARGET_US, LARGE_TARGET_US = 15.0, 150.0
BUSY = "busy.example.com"
HOSTS = [BUSY] * ON_ONE_HOST + [f"news{number // ON_OTHERS}.example.com" for number in range(RULES - ON_ONE_HOST)]
EMPTY = priority_table(())


def measure(say: Say) -> Result:
    """One job on a host with few rules and on one with many, by the kind of the rules, and building the table."""
    figures: list[Figure] = []
    for kind in KINDS:
        say(f"{RULES:,} {kind} rules, {ON_ONE_HOST:,} of them on one host; {URLS:,} URLs a figure")
        figures += _of_kind(kind)
    return Result(figures=tuple(figures))


def _of_kind(kind: str) -> list[Figure]:
    words = random.Random(7)
    rules = rules_for(HOSTS, kind, words)
    began = time.perf_counter()
    table = priority_table(rules)
    built_ms = (time.perf_counter() - began) * 1000
    bare, full = standard_chain(lambda: EMPTY), standard_chain(lambda: table)
    figures = [Figure(name=f"{kind}: building the table", value=built_ms, unit="ms", at_most=True)]
    for count, some, target_us in (
        (ON_OTHERS, rules[ON_ONE_HOST:], SMALL_TARGET_US),
        (ON_ONE_HOST, rules[:ON_ONE_HOST], LARGE_TARGET_US),
    ):
        without, with_rules, slow = _medians_us(bare, full, [jobs_for(some, URLS, words) for _ in range(3)])
        name = f"{kind}, {count:,} rules a host"
        figures += [
            Figure(name=name, value=with_rules, unit="us", target=target_us, at_most=True),
            Figure(name=f"{name}: what they add", value=with_rules - without, unit="us", at_most=True),
            Figure(name=f"{name}: p99", value=slow, unit="us", at_most=True),
        ]
    return figures


def _medians_us(
    bare: CompositePriorityResolver, full: CompositePriorityResolver, sets: Sequence[Sequence[CrawlJob]]
) -> tuple[float, float, float]:
    """Medians of resolving one job without and with rules, and the slowest of a hundred with them, in microseconds.

    Three sets of jobs, no URL in two of them, so that no parse is remembered from one to the next: the first is for
    what RE2 builds when it meets the texts of a host, which a process pays once. Both chains take turns, so that a
    noisy moment of the machine falls on both.
    """
    warm, others, judged = sets
    resolving_us(full, warm)
    without: list[float] = []
    with_rules: list[float] = []
    for first in range(0, len(judged), TURN):
        without += resolving_us(bare, others[first : first + TURN])
        with_rules += resolving_us(full, judged[first : first + TURN])
    return statistics.median(without), statistics.median(with_rules), centile(with_rules, 99)
