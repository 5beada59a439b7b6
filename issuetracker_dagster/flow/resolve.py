"""Which priority a crawl job gets: explicit, then by source, then by rule, then normal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule


class PriorityResolver(Protocol):
    """One link of the chain; None leaves the answer to the next."""

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Priority | None: ...


class ExplicitPriorityResolver:
    """The priority that the publisher of the job asked for."""

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Priority | None:  # noqa: ARG002
        return explicit


class SourcePriorityResolver:
    """By the name of the source (`job.source`)."""

    def __init__(self, by_source: Mapping[str, Priority]) -> None:
        self._by_source = dict(by_source)

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Priority | None:  # noqa: ARG002
        return self._by_source.get(job.source)


class RuleBasedPriorityResolver:
    """By host and path rules. `rules` gives the table of the moment, so that a newer one is swapped in whole."""

    def __init__(self, rules: Callable[[], HostTable[Priority]]) -> None:
        self._rules = rules

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Priority | None:  # noqa: ARG002
        return self._rules().find(job.url)


class DefaultPriorityResolver:
    """Normal; closes the chain."""

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Priority:  # noqa: ARG002
        return Priority.NORMAL


class CompositePriorityResolver:
    """The chain: the first answer counts. Built with the default at its end, so it always answers."""

    def __init__(self, resolvers: Sequence[PriorityResolver]) -> None:
        self._resolvers = tuple(resolvers)

    def resolve(self, job: CrawlJob, explicit: Priority | None) -> Priority:
        for resolver in self._resolvers:
            priority = resolver.resolve(job, explicit)
            if priority is not None:
                return priority
        return Priority.NORMAL


def standard_chain(
    rules: Callable[[], HostTable[Priority]], by_source: Mapping[str, Priority] | None = None
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


def priority_table(rules: Iterable[PriorityRule]) -> HostTable[Priority]:
    """The look-up table of some priority rules."""
    return HostTable((rule.host, rule.path, rule.priority) for rule in rules)
