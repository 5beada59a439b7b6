"""Step 2 offline: a content joins the issue whose contents it is closest to, else it opens one."""

from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.records import Content
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.stores import Issues, MemberView
from issuetracker_dagster.stages.enrich.issue_facts import issue_of
from issuetracker_dagster.stages.enrich.neighbours import SPEAKERS, Neighbours
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.sources import source_of
from issuetracker_dagster.stages.enrich.steps import Extraction, Placement
from issuetracker_dagster.stages.enrich.vectors import EMPTY, TextVector, VectorCache, most_central

_CENTRAL_AMONG = 200
"""How many of the newest members may give an issue its title."""


class NearestIssueClusterer:
    """One pass over the members of open issues (decision 0170).

    A content that is close to several issues shows that they may be one: they are merged into the oldest when their
    contents are as close to each other as those of one issue. So two threads of an event that were opened apart come
    together, in whatever order their reports arrive, and one report that mentions two events leaves them two.
    """

    def __init__(self, issues: Issues, clock: Clock, options: EnrichOptions) -> None:
        self._issues = issues
        self._clock = clock
        self._options = options
        self._vectors = VectorCache(options.vectors_kept)

    def place(self, content: Content, extraction: Extraction, *, anew: bool = False) -> Placement:
        """Make the content a member of an issue and bring the issue's row up to date.

        With `anew`, after its page was read again, it first leaves an issue that it wouldn't join: a hundred pages that
        were once all read as one cookie notice don't stay one issue. Raises `Unavailable` when the lock of its language
        isn't had in time.
        """
        now_ms = self._clock.now_ms()
        view = MemberView(
            content_id=content.content_id,
            issue_id=0,
            host=source_of(content.url, content.host),
            title=content.title,
            body=content.body,
            language=extraction.language,
            published_ms=content.published_ms,
            seen_ms=(anew and content.fetched_ms) or now_ms,
            keywords=extraction.keywords,
            entities=extraction.entities,
        )
        vector = self._vectors.put(view)
        with self._issues.lock_candidates(view.language):
            for known in self._issues.views([view.content_id]):
                view = msgspec.structs.replace(view, issue_id=known.issue_id, seen_ms=known.seen_ms)
            neighbours = self._neighbours(view, vector, now_ms)
            near = neighbours.issues_near()
            if anew and view.issue_id and view.issue_id not in near:
                self._leave(view, now_ms)
            issue_id = self._issues.assign(view, near[0] if near else None)
            found = [other for other in near if other != issue_id and neighbours.belong_together(issue_id, other)]
            kept = min([issue_id, *found])
            absorbed = sorted({issue_id, *found} - {kept})
            for other in absorbed:
                self._issues.merge(kept, other)
            self._describe(kept, now_ms)
        return Placement(kept, merged=bool(absorbed))

    def _neighbours(self, view: MemberView, vector: TextVector, now_ms: int) -> Neighbours:
        since_ms = now_ms - self._options.close_after_ms
        limit = self._options.candidates_max
        others = _without(view, self._issues.open_members(view.language, since_ms, limit, with_texts=False))
        if view.issue_id and view.issue_id not in {other.issue_id for other in others}:
            # It may have been closed since the content joined it.
            own = _without(view, self._issues.members(view.issue_id, with_texts=False))
            others += _newest(own, SPEAKERS)
        return Neighbours([view, *others], [vector, *self._vectors_of(others)], self._options)

    def _leave(self, view: MemberView, now_ms: int) -> None:
        members = self._issues.members(view.issue_id, with_texts=False)
        if len(members) > 1:
            self._issues.leave(view.content_id)
            self._describe(view.issue_id, now_ms)

    def _describe(self, issue_id: int, now_ms: int) -> None:
        members = self._issues.members(issue_id, with_texts=False)
        if not members:
            return
        newest = sorted(_newest(members, _CENTRAL_AMONG), key=lambda member: member.content_id)
        title = newest[most_central(self._vectors_of(newest))].title
        self._issues.update_issue(issue_of(issue_id, members, title, now_ms, self._options))

    def _vectors_of(self, members: Sequence[MemberView]) -> list[TextVector]:
        found = self._vectors.find(members)
        missing = {member.content_id: place for place, member in enumerate(members) if found[place] is None}
        if missing:
            for view in self._issues.views(missing):
                place = missing[view.content_id]
                # Under the title that was asked for, or the next look misses again.
                found[place] = self._vectors.put(msgspec.structs.replace(view, title=members[place].title))
        return [EMPTY if vector is None else vector for vector in found]


def _without(view: MemberView, members: Sequence[MemberView]) -> list[MemberView]:
    return [member for member in members if member.content_id != view.content_id]


def _newest(members: Sequence[MemberView], count: int) -> list[MemberView]:
    return sorted(members, key=lambda member: (-member.seen_ms, -member.content_id))[:count]
