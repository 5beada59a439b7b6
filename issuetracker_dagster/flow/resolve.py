"""Which priority a crawl job gets, and what decided it: explicit, then by source, then by rule, then normal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule

PriorityTable = HostTable[PriorityRule]


class Resolution(msgspec.Struct, frozen=True):
    """A priority, and who gave it: `explicit`, `source`, `rule 12` (the id of the rule) or `default`."""

    priority: Priority
    decided_by: str


class PriorityResolver(Protocol):
    """One link of the chain; None leaves the answer to the next."""

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Resolution | None: ...


class ExplicitPriorityResolver:
    """The priority that the publisher of the job asked for."""

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Resolution | None:  # noqa: ARG002
        return None if explicit is None else Resolution(explicit, "explicit")


class SourcePriorityResolver:
    """By the name of the source (`job.source`)."""

    def __init__(self, by_source: Mapping[str, Priority]) -> None:
        self._by_source = dict(by_source)

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Resolution | None:  # noqa: ARG002
        priority = self._by_source.get(job.source)
        return None if priority is None else Resolution(priority, "source")


class RuleBasedPriorityResolver:
    """By host and path rules. `rules` gives the table of the moment, so that a newer one is swapped in whole."""

    def __init__(self, rules: Callable[[], PriorityTable]) -> None:
        self._rules = rules

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Resolution | None:  # noqa: ARG002
        rule = self._rules().find(job.url)
        return None if rule is None else Resolution(rule.priority, f"rule {rule.rule_id}")


class DefaultPriorityResolver:
    """Normal; closes the chain."""

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Resolution:  # noqa: ARG002
        return Resolution(Priority.NORMAL, "default")


class CompositePriorityResolver:
    """The chain: the first answer counts, and where there is none it is the default's."""

    def __init__(self, resolvers: Sequence[PriorityResolver]) -> None:
        self._resolvers = tuple(resolvers)
        self._default = DefaultPriorityResolver()

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Resolution:
        """The priority of a job. Raises `BadUrl`, and `Unavailable` when rules were never read yet and can't be."""
        for resolver in self._resolvers:
            resolution = resolver.resolve(job, explicit)
            if resolution is not None:
                return resolution
        return self._default.resolve(job, explicit)


def standard_chain(
    rules: Callable[[], PriorityTable], by_source: Mapping[str, Priority] | None = None
) -> CompositePriorityResolver:
    """Explicit, source, rules, default."""
    return CompositePriorityResolver(
        (
            ExplicitPriorityResolver(),
            SourcePriorityResolver(by_source or {}),
            RuleBasedPriorityResolver(rules),
            DefaultPriorityResolver(),
        )
    )


def priority_table(rules: Iterable[PriorityRule]) -> PriorityTable:
    """The look-up table of some priority rules; raises ValueError for a host or path that is none."""
    return HostTable((rule.host, rule.path, rule) for rule in rules)
