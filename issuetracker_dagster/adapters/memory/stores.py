"""Everything that is kept in SQL, in memory: one bundle whose parts know each other as the tables do."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from issuetracker_dagster.adapters.memory.rule_snapshots import MemoryRuleSnapshots
from issuetracker_dagster.adapters.memory.store_contents import MemoryContents, MemoryRawContents
from issuetracker_dagster.adapters.memory.store_issues import MemoryIssues
from issuetracker_dagster.adapters.memory.store_letters import MemoryDeadLetterIndex
from issuetracker_dagster.adapters.memory.store_rules import MemoryParserRules
from issuetracker_dagster.adapters.memory.store_seeds import MemorySeeds
from issuetracker_dagster.adapters.memory.store_traces import MemoryMessageTrace, MemoryPublishedRecent
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.records import ContentStatus, IssueState
from issuetracker_dagster.ports.reports import ContentView, DeadLetterView, IssueView

__all__ = [
    "MemoryContents",
    "MemoryDeadLetterIndex",
    "MemoryIssues",
    "MemoryMessageTrace",
    "MemoryParserRules",
    "MemoryPublishedRecent",
    "MemoryRawContents",
    "MemoryReports",
    "MemoryRuleSnapshots",
    "MemorySeeds",
    "MemoryStores",
]


class MemoryStores:
    """All stores of one imaginary database."""

    def __init__(self) -> None:
        self.raw_contents = MemoryRawContents()
        self.contents = MemoryContents()
        self.parser_rules = MemoryParserRules()
        self.rule_snapshots = MemoryRuleSnapshots()
        self.issues = MemoryIssues(self.contents)
        self.seeds = MemorySeeds()
        self.dead_letters = MemoryDeadLetterIndex(self.raw_contents)
        self.message_trace = MemoryMessageTrace()
        self.published_recent = MemoryPublishedRecent()
        self.reports = MemoryReports(self)


class MemoryReports:
    """The port `Reports`."""

    def __init__(self, stores: MemoryStores) -> None:
        self._stores = stores

    def counts(self) -> Mapping[str, int]:
        stores = self._stores
        statuses = Counter(content.status for content in stores.contents.rows.values())
        states = Counter(issue.state for issue in stores.issues.rows.values())
        return {
            "raw_contents": stores.raw_contents.count(),
            "contents": len(stores.contents.rows),
            **{f"contents.{status}": statuses[status] for status in ContentStatus},
            "enriched_contents": len(stores.issues.enriched),
            "issues": len(stores.issues.rows),
            **{f"issues.{state}": states[state] for state in IssueState},
            "seeds": len(stores.seeds.all()),
            "dead_letters": stores.dead_letters.count(LetterFilter()),
        }

    def contents(self, limit: int) -> Sequence[ContentView]:
        rows = sorted(self._stores.contents.rows, reverse=True)[:limit]
        return [self._content(content_id) for content_id in rows]

    def rendered_hosts(self) -> Sequence[str]:
        return sorted(rule.host_pattern for rule in self._stores.parser_rules.fetcher_rules() if rule.rendering)

    def _content(self, content_id: int) -> ContentView:
        content = self._stores.contents.rows[content_id]
        verdict = self._stores.contents.verdicts.get(content_id)
        enrichment = self._stores.issues.enriched.get(content_id)
        member = next(iter(self._stores.issues.views([content_id])), None)
        view = ContentView(
            content_id=content_id,
            url=content.url,
            host=content.host,
            title=content.title,
            language=content.language if enrichment is None else enrichment.language,
            status=content.status.value,
            published_ms=content.published_ms,
            fetched_ms=content.fetched_ms,
            issue_id=0 if member is None else member.issue_id,
        )
        if verdict is not None:
            view = msgspec.structs.replace(view, code=verdict.code, quality=verdict.quality)
        if enrichment is not None:
            view = msgspec.structs.replace(
                view, trust=enrichment.trust, factors=enrichment.factors, rationale=enrichment.rationale
            )
        return view

    def issues(self, limit: int) -> Sequence[IssueView]:
        rows = sorted(self._stores.issues.rows.values(), key=lambda issue: (-issue.last_seen_ms, -issue.issue_id))
        views = []
        for issue in rows[:limit]:
            members = self._stores.issues.members(issue.issue_id)
            hosts = tuple(sorted({view.host for view in members}))
            views.append(IssueView(issue=issue, hosts=hosts, content_ids=tuple(view.content_id for view in members)))
        return views

    def dead_letters(self, limit: int) -> Sequence[DeadLetterView]:
        found = self._stores.dead_letters.newest(LetterFilter(states=()), limit)
        fields = DeadLetterView.__struct_fields__
        return [DeadLetterView(**{name: getattr(letter, name) for name in fields}) for letter in found]
