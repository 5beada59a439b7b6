"""What `issuetracker why` tells of a URL's past and its place among the seeds: published, fetched, died, looked at."""

from functools import cached_property

from issuetracker_dagster.cli.dlq_words import line_of
from issuetracker_dagster.cli.seed_lists import due_words, interval_words
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.letters import Letter, LetterFilter, LetterState
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.traces import PublishedJob
from issuetracker_dagster.wiring.parts import Wiring

_REMEMBERED = 20_000
_ON_ITS_WAY_MS = 3_600_000
"""A job published within this time may still wait for its host; before, its page was fetched and purged, or it died."""


class Lately:
    """What the database knows of one URL. `written` is the URL as it was given, by which a seed is known. All raise
    `Unavailable`."""

    def __init__(self, wiring: Wiring, url: str, written: str) -> None:
        self._wiring = wiring
        self._url = url
        self._written = written

    def published(self) -> str:
        """When, how urgent, and by whose decision."""
        latest, job = self._published
        if job is None:
            return f"not among the last {latest} that were noted"
        kind = "" if job.target_type is TargetType.ARTICLE else f" as {job.target_type.value}"
        priority = Priority(job.priority).label
        return f"{self._ago(job.at_ms)}{kind}, {priority}, decided by {job.decided_by or 'nobody knows'}"

    def fetched(self) -> str:
        """When, with the status of the answer."""
        raw = self._wiring.stores.raw_contents.latest(self._url)
        if raw is not None:
            return f"{self._ago(raw.fetched_ms)}, status {raw.status}"
        _, job = self._published
        letter = self._letter
        if job is None or (letter is not None and letter.at_ms >= job.at_ms):
            return "never, or its page was purged"
        is_young = self._wiring.clock.now_ms() - job.at_ms <= _ON_ITS_WAY_MS
        return "not yet" if is_young else "never, or its page was purged"

    def died(self) -> str:
        """Where and why its youngest letter died; empty when the index has none."""
        letter = self._letter
        if letter is None:
            return ""
        since = "" if letter.state is LetterState.OPEN else f", {letter.state.value}"
        reason = line_of(letter.reason, 40) or "no reason"
        return f"{self._ago(letter.at_ms)} in {letter.stage}: {reason} (letter {letter.letter_id}{since})"

    def seed(self) -> str:
        """How often and how urgently it is looked at as a seed; empty when it is none."""
        seeds = self._wiring.stores.seeds
        seed = seeds.by_url(self._written) or seeds.by_url(self._url)
        if seed is None:
            return ""
        priority = f"its own priority {Priority(seed.priority).label}" if seed.priority else "priority by rule"
        due = f"due {due_words(seed.next_due_ms, self._wiring.clock.now_ms())}" if seed.enabled else "switched off"
        return f"{seed.seed_id} of {seed.source}, every {interval_words(seed)}, {priority}, {due}"

    @cached_property
    def _published(self) -> tuple[int, PublishedJob | None]:
        latest = self._wiring.stores.published_recent.latest(_REMEMBERED)
        return len(latest), next((job for job in latest if job.url == self._url), None)

    @cached_property
    def _letter(self) -> Letter | None:
        wanted = LetterFilter(host=host_of(self._url), url=self._url, states=())
        return next(iter(self._wiring.stores.dead_letters.newest(wanted, 1)), None)

    def _ago(self, at_ms: int) -> str:
        return f"{about_duration(self._wiring.clock.now_ms() - at_ms)} ago"
