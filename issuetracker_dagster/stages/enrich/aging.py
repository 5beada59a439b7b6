"""Issues that nothing joins any more: their velocity falls and in the end they are closed."""

from collections.abc import Sequence

from issuetracker_dagster.model.records import Issue, IssueState
from issuetracker_dagster.ports.stores import Issues
from issuetracker_dagster.stages.enrich.issue_facts import issue_of
from issuetracker_dagster.stages.enrich.options import EnrichOptions

_LIVELY = (IssueState.EMERGING, IssueState.ACTIVE)
_OPEN = (*_LIVELY, IssueState.FADING)


def age_issues(issues: Issues, now_ms: int, options: EnrichOptions, limit: int = 100) -> int:
    """Bring up to `limit` issues that fell silent to the velocity and state of now; returns how many changed state.

    Takes the lock of the issue's language for each, since a content may join at the same moment.
    """
    silent = issues.quiet(_OPEN, now_ms - options.close_after_ms, limit)
    quieter = issues.quiet(_LIVELY, now_ms - options.emerging_for_ms, limit)
    return _refresh(issues, [*silent, *quieter][:limit], now_ms, options)


def _refresh(issues: Issues, found: Sequence[Issue], now_ms: int, options: EnrichOptions) -> int:
    changed = 0
    for issue in found:
        with issues.lock_candidates(issue.language):
            members = issues.members(issue.issue_id, with_texts=False)
            if not members:
                continue
            fresh = issue_of(issue.issue_id, members, issue.title, now_ms, options)
            issues.update_issue(fresh)
        changed += fresh.state is not issue.state
    return changed
