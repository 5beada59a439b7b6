"""What a change of rules would move, over the URLs that were published lately, before anything is saved."""

from collections.abc import Iterable, Sequence

import msgspec

from issuetracker_dagster.flow.resolve import PriorityTable, priority_table
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.model.urls import BadUrl
from issuetracker_dagster.ports.traces import PublishedJob

_WITHOUT_RULES = ("explicit", "source")
"""What may have decided a priority before any rule was asked."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """URLs of one host that would change from one priority to another; `sample` is the latest of them."""

    host: str
    before: Priority
    after: Priority
    count: int
    sample: str


class Preview(msgspec.Struct, frozen=True, kw_only=True):
    """`looked_at` published URLs, of which `fixed` had their priority from elsewhere and can't move."""

    looked_at: int
    fixed: int
    moves: tuple[Move, ...]

    @property
    def moved(self) -> int:
        return sum(move.count for move in self.moves)

    def total(self, priority: Priority) -> int:
        """How many more (or fewer) URLs of that priority there would be."""
        return sum(move.count * ((move.after == priority) - (move.before == priority)) for move in self.moves)


def preview(
    published: Sequence[PublishedJob], before: Iterable[PriorityRule], planned: Iterable[PriorityRule]
) -> Preview:
    """Ask both sets of rules for each URL; `published` is newest first. The most frequent moves come first."""
    old, new = priority_table(before), priority_table(planned)
    free = [job for job in published if job.decided_by not in _WITHOUT_RULES]
    counts: dict[tuple[str, Priority, Priority], int] = {}
    samples: dict[tuple[str, Priority, Priority], str] = {}
    for job in free:
        was, will = _priority(old, job.url), _priority(new, job.url)
        if was is not will:
            key = job.host, was, will
            counts[key] = counts.get(key, 0) + 1
            samples.setdefault(key, job.url)
    moves = (
        Move(host=host, before=was, after=will, count=count, sample=samples[host, was, will])
        for (host, was, will), count in counts.items()
    )
    ordered = sorted(moves, key=lambda move: (-move.count, move.host, move.before, move.after))
    return Preview(looked_at=len(published), fixed=len(published) - len(free), moves=tuple(ordered))


def _priority(table: PriorityTable, url: str) -> Priority:
    try:
        rule = table.find(url)
    except BadUrl:
        rule = None
    return Priority.NORMAL if rule is None else rule.priority
