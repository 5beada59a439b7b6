"""What a host shows at a moment: its latest stories, those of a section, and one by its path."""

from collections.abc import Iterator
from functools import lru_cache

from issuetracker_dagster.local.site.hosts import Host
from issuetracker_dagster.local.site.stories import Story, event_number, tell
from issuetracker_dagster.local.site.templates import kinds
from issuetracker_dagster.local.site.timeline import ARCHIVED, Event, Timeline

LISTED = 40
"""Stories on a list or in a feed; older ones stay under their own URL."""
_LOOKED_THROUGH = 400
"""Events that are looked through for a section that has few stories."""


class Newsroom:
    """Stories of all hosts. Thread-safe; keeps a few hundred stories, the rest is told again when asked for."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._event = lru_cache(1_024)(timeline.event)
        self._story = lru_cache(2_048)(self._tell)

    @property
    def timeline(self) -> Timeline:
        return self._timeline

    def latest(self, host: Host, now_ms: int, section: str = "", limit: int = LISTED) -> list[Story]:
        """The host's stories that are out, newest first; of one section, or of all but the archive."""
        found: list[Story] = []
        for event in self._told_by(host, now_ms, archived=section == "archive"):
            if section in ("", "archive") or section == ("breaking" if event.is_breaking else event.kind.category):
                story = self._story(host, event.number)
                if story.published_ms <= now_ms:
                    found.append(story)
            if len(found) == limit:
                break
        return sorted(found, key=lambda story: -story.published_ms)

    def at(self, host: Host, path_and_query: str, now_ms: int) -> Story | None:
        """The story of that path, if the host tells it and has published it."""
        number = event_number(path_and_query)
        if number is None or number > self._timeline.newest(now_ms) or host not in self._event(number).hosts:
            return None
        story = self._story(host, number)
        return story if story.path == path_and_query and story.published_ms <= now_ms else None

    def event(self, number: int) -> Event:
        """The event of that number."""
        return self._event(number)

    def _told_by(self, host: Host, now_ms: int, *, archived: bool) -> Iterator[Event]:
        newest = -1 if archived else self._timeline.newest(now_ms)
        oldest = -ARCHIVED if archived else max(0, newest - _LOOKED_THROUGH)
        events = (self._event(number) for number in range(newest, oldest - 1, -1))
        return (event for event in events if host in event.hosts)

    def _tell(self, host: Host, number: int) -> Story:
        return tell(self._event(number), host, self._timeline.told_ms(host, number), self._timeline.seed)


def sections(host: Host) -> tuple[str, ...]:
    """The sections of a host's navigation, breaking first."""
    if host.community:
        return ("breaking",)
    return ("breaking", *dict.fromkeys(kind.category for kind in kinds(host.language)))
