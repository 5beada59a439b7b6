"""Priority rules of several kinds, and jobs whose URLs have something in common with them."""

import random
import time
from collections.abc import Sequence

from issuetracker_dagster.flow.resolve import CompositePriorityResolver
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule

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


def rules_for(hosts: Sequence[str], kind: str, words: random.Random) -> list[PriorityRule]:
    """A rule of that kind for each of these hosts, which may repeat."""
    return [
        PriorityRule(
            host=host,
            path=KINDS[kind][number % len(KINDS[kind])].format(word=_word(words), n=number),
            priority=Priority(number % 3 + 1),
            rule_id=number,
        )
        for number, host in enumerate(hosts)
    ]


def jobs_for(rules: Sequence[PriorityRule], count: int, words: random.Random) -> list[CrawlJob]:
    """Jobs on the hosts of these rules, each with a path of its own that has something in common with some rule."""
    made: list[CrawlJob] = []
    for rule in words.choices(rules, k=count):
        about = words.choice((rule, words.choice(rules)))
        head = "".join(letter for letter in about.path if letter.isalnum() or letter in "/-").strip("/")
        tail = f"{_word(words)}/{words.randrange(2026)}/{_word(words)}-{words.randrange(10**9)}.html"
        made.append(CrawlJob(url=f"https://{rule.host}/{head}/{tail}"))
    return made


def resolving_us(chain: CompositePriorityResolver, jobs: Sequence[CrawlJob]) -> list[float]:
    """Microseconds of resolving each."""
    times: list[float] = []
    for one in jobs:
        began = time.perf_counter()
        chain.resolve(one, None)
        times.append((time.perf_counter() - began) * 1e6)
    return times


def _word(words: random.Random) -> str:
    return "".join(words.choices("abcdefghijklmnopqrstuvwxyz", k=words.randint(3, 9)))
