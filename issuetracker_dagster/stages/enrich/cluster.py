"""Step 2 offline: a content joins the issue of whatever it is linked with, else it opens one."""

from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.records import Content
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.stores import Issues, MemberView
from issuetracker_dagster.stages.enrich.issue_facts import issue_of
from issuetracker_dagster.stages.enrich.linking import decayed, linked
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.sources import source_of
from issuetracker_dagster.stages.enrich.steps import Extraction, Placement
from issuetracker_dagster.stages.enrich.vectors import EMPTY, TextVector, VectorCache, cosines, most_central

_CENTRAL_AMONG = 200
"""How many of the newest members may give an issue its title."""


class LinkingClusterer:
    """One pass over the members of open issues. Links with several issues merge them into the oldest.

    Since links are the same from either side and merging follows them, the clusters are the connected groups of linked
    contents, whatever the order of arrival; only links that hang on a word's rarity by a hair may fall otherwise.
    """

    def __init__(self, issues: Issues, clock: Clock, options: EnrichOptions) -> None:
        self._issues = issues
        self._clock = clock
        self._options = options
        self._vectors = VectorCache(options.vectors_kept)

    def place(self, content: Content, extraction: Extraction, *, anew: bool = False) -> Placement:
        """Make the content a member of an issue and bring the issue's row up to date.

        With `anew`, after its page was read again, it first leaves an issue none of whose other members it is linked
        with: a hundred pages that were once all read as one cookie notice don't stay one issue. Raises `Unavailable`
        when the lock of its language isn't had in time.
        """
        now_ms = self._clock.now_ms()
        known = self._issues.views([content.content_id])
        view = MemberView(
            content_id=content.content_id,
            issue_id=0,
            host=source_of(content.url, content.host),
            title=content.title,
            body=content.body,
            language=extraction.language,
            published_ms=content.published_ms,
            seen_ms=known[0].seen_ms if known else (anew and content.fetched_ms) or now_ms,
            keywords=extraction.keywords,
            entities=extraction.entities,
        )
        vector = self._vectors.put(view)
        with self._issues.lock_candidates(view.language):
            if anew and known:
                self._leave_strangers(view, vector, known[0].issue_id, now_ms)
            found = self._linked_issues(view, vector, now_ms)
            issue_id = self._issues.assign(view, min(found, default=None))
            kept = min({issue_id, *found})
            absorbed = {issue_id, *found} - {kept}
            for other in sorted(absorbed):
                self._issues.merge(kept, other)
            self._describe(kept, now_ms)
        return Placement(kept, merged=bool(absorbed))

    def _linked_issues(self, view: MemberView, vector: TextVector, now_ms: int) -> set[int]:
        since_ms = now_ms - self._options.close_after_ms
        limit = self._options.candidates_max
        members = self._issues.open_members(view.language, since_ms, limit, with_bodies=False)
        return self._issues_linked(view, vector, members)

    def _issues_linked(self, view: MemberView, vector: TextVector, members: Sequence[MemberView]) -> set[int]:
        others = [member for member in members if member.content_id != view.content_id]
        alike = cosines(vector, self._vectors_of(others))
        return {
            member.issue_id
            for member, cosine in zip(others, alike, strict=True)
            if cosine >= self._options.link_shared_min
            and linked(decayed(cosine, view, member, self._options), view, member, self._options)
        }

    def _leave_strangers(self, view: MemberView, vector: TextVector, issue_id: int, now_ms: int) -> None:
        members = self._issues.members(issue_id, with_bodies=False)
        if len(members) > 1 and not self._issues_linked(view, vector, members):
            self._issues.leave(view.content_id)
            self._describe(issue_id, now_ms)

    def _describe(self, issue_id: int, now_ms: int) -> None:
        members = self._issues.members(issue_id, with_bodies=False)
        newest = sorted(members, key=lambda member: (-member.seen_ms, member.content_id))[:_CENTRAL_AMONG]
        newest.sort(key=lambda member: member.content_id)
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
