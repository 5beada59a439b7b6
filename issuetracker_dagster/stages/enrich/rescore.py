"""Scores of the members of an issue, brought up to date when a new source joins it."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.records import ContentClaim
from issuetracker_dagster.ports.stores import Issues, MemberView
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.steps import Scorer
from issuetracker_dagster.stages.enrich.verify import Evidence


def sources_of(members: Sequence[MemberView]) -> frozenset[str]:
    """The distinct sources of some members."""
    return frozenset(member.host for member in members)


def evidence_among(members: Sequence[MemberView], most: int) -> list[MemberView]:
    """Up to `most` members to compare claims with: the newest of each source, then the second newest, and so on."""
    place: Counter[str] = Counter()
    ranked = []
    for member in sorted(members, key=lambda member: (-member.seen_ms, -member.content_id)):
        place[member.host] += 1
        ranked.append((place[member.host], member))
    ranked.sort(key=lambda entry: entry[0])
    return [member for _, member in ranked[:most]]


class Rescorer:
    """Verifies and scores anew, offline. Call it while holding the lock of the issue's language."""

    def __init__(self, issues: Issues, scorer: Scorer, options: EnrichOptions) -> None:
        self._issues = issues
        self._scorer = scorer
        self._options = options

    def rescore(self, issue_id: int, members: Sequence[MemberView], *, keep_judged: bool) -> int:
        """Recompute claims and trust of every enriched one of the members of an issue; returns how many changed.

        With `keep_judged` a claim that is supported or contradicted keeps that status, since a language model may have
        seen what counting words can't.
        """
        speaking = [view.content_id for view in evidence_among(members, self._options.evidence_max)]
        evidence = Evidence(self._issues.views(speaking))
        source_of = {member.content_id: member.host for member in members}
        changed = []
        for before in self._issues.enrichments(source_of):
            fresh = evidence.judge([claim.text for claim in before.claims], without_source=source_of[before.content_id])
            claims = _keeping(before.claims, fresh) if keep_judged else fresh
            known = before.factors.get("context_completeness", 0.0)
            score = self._scorer.score(claims, len(sources_of(members)), known)
            after = msgspec.structs.replace(
                before,
                claims=claims,
                issue_id=issue_id,
                trust=score.trust,
                factors=score.factors,
                rationale=score.rationale,
            )
            if after != before:
                changed.append(after)
        self._issues.save_enrichment(*changed)
        return len(changed)


def _keeping(before: Sequence[ContentClaim], fresh: Sequence[ContentClaim]) -> tuple[ContentClaim, ...]:
    return tuple(new if old.status == "unverified" else old for old, new in zip(before, fresh, strict=True))
