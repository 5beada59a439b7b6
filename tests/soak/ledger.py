"""The ledger: every record of every topic by root id, and whether each root came to an end.

Pure: what was seen goes in, a judgement comes out. It doesn't ask the product what it thinks has happened.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from enum import StrEnum

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.records import ContentStatus
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Topic

CRAWLS = frozenset(topic.value for topic in CRAWL_TOPICS.values())
ALLOWED_REASONS = frozenset({"retry_unavailable", "extractor_crashed"})
"""Why a healthy page may end in the DLQ by design: its retry couldn't be written since Redis was out (the letter tells
both errors), or its extraction process was killed twice in a row, which looks like the page's fault."""


class End(StrEnum):
    """How the journey of a root ended."""

    ENRICHED = "enriched"
    REJECTED = "rejected"
    DEAD = "dead-lettered"
    LINKS = "links followed"
    INDEX = "taken for an index page, or blacklisted"
    UNCHANGED = "unchanged page"
    LOST = "LOST"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A record as the observer read it; `at_ms` is the record's own time, `place` is where it lies."""

    topic: str
    place: str
    root_id: str
    generation: int
    at_ms: int
    target_type: str = TargetType.ARTICLE
    url: str = ""
    content_id: int = 0
    reason: str = ""


class Database(msgspec.Struct, frozen=True):
    """What SQL holds in the end: the status of each content, URLs whose page was stored, URLs on the blacklist, and
    URLs of contents that are there more than once."""

    contents: Mapping[int, str]
    stored: Collection[str]
    blacklisted: Collection[str]
    doubled: Collection[str] = ()


class Expected(msgspec.Struct, frozen=True):
    """What must become of a root that was published here."""

    root_id: str
    url: str
    end: End
    links: tuple[str, ...] = ()
    """URLs that have to become roots of their own and be enriched."""


class Amiss(msgspec.Struct, frozen=True):
    """A root that didn't end as it had to: why, and the last places where it was seen."""

    root_id: str
    url: str
    why: str
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.root_id} {self.url}: {self.why}; seen at {', '.join(self.places) or 'no place'}"


class Judgement(msgspec.Struct, frozen=True):
    """The whole ledger. `repeats` counts records of an identity beyond its first, by topic."""

    ends: Mapping[str, int]
    lost: tuple[Amiss, ...]
    otherwise: tuple[Amiss, ...]
    """Ended, but not as was known beforehand: a healthy page among the dead letters."""
    repeats: Mapping[str, int]
    records: Mapping[str, int]
    two_contents: tuple[str, ...]
    doubled: tuple[str, ...]
    reasons: Mapping[str, int]


class Ledger:
    """Takes note of records; one that was read twice counts once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: set[str] = set()
        self._by_root: dict[str, list[Seen]] = defaultdict(list)
        self._counts: Counter[str] = Counter()
        self._enriched_ms: list[int] = []
        self._enriched_ids: set[str] = set()

    def note(self, seen: Seen) -> None:
        with self._lock:
            if seen.place in self._places:
                return
            self._places.add(seen.place)
            self._by_root[seen.root_id].append(seen)
            self._counts[seen.topic] += 1
            if seen.topic == Topic.ENRICHED and seen.root_id not in self._enriched_ids:
                self._enriched_ids.add(seen.root_id)
                self._enriched_ms.append(seen.at_ms)

    def counts(self) -> Counter[str]:
        """Records by topic."""
        with self._lock:
            return Counter(self._counts)

    def enriched_after(self, at_ms: int) -> int | None:
        """When the first new content after that time was finished, in Unix milliseconds."""
        with self._lock:
            return min((ms for ms in self._enriched_ms if ms > at_ms), default=None)

    def judge(self, expected: Collection[Expected], database: Database) -> Judgement:
        """What became of each root that was published here or seen on a crawl topic."""
        with self._lock:
            roots = {root_id: tuple(seen) for root_id, seen in self._by_root.items()}
        ends = {root_id: end_of(seen, database) for root_id, seen in roots.items()}
        ends |= {each.root_id: End.LOST for each in expected if each.root_id not in ends}
        lost = [
            _amiss(root_id, roots.get(root_id, ()), _where_lost) for root_id, end in ends.items() if end is End.LOST
        ]
        by_url: dict[str, set[End]] = defaultdict(set)
        for root_id, seen in roots.items():
            end = End.ENRICHED if _dead_by_design(seen) else ends[root_id]  # as good as
            by_url[next((each.url for each in seen if each.topic in CRAWLS), "")].add(end)
        otherwise: list[Amiss] = []
        for each in expected:
            seen = roots.get(each.root_id, ())
            if ends[each.root_id] not in (each.end, End.LOST) and not _dead_by_design(seen):
                otherwise.append(_amiss(each.root_id, seen, lambda _, each=each: _against(each, ends[each.root_id])))
            for url in each.links if ends[each.root_id] is End.LINKS else ():
                if not by_url.get(url):
                    lost.append(_amiss(each.root_id, seen, lambda _, url=url: f"its link {url} was never published"))
                elif End.ENRICHED not in by_url[url] and End.LOST not in by_url[url]:
                    otherwise.append(_amiss(each.root_id, seen, lambda _, url=url: f"its link {url} ended otherwise"))
        identities = Counter((each.topic, each.root_id, each.generation) for seen in roots.values() for each in seen)
        repeats = Counter[str]()
        for (topic, _, _), count in identities.items():
            repeats[topic] += count - 1
        return Judgement(
            ends=Counter(end.value for end in ends.values()),
            lost=tuple(lost),
            otherwise=tuple(otherwise),
            repeats=repeats,
            records=self.counts(),
            two_contents=tuple(root_id for root_id, seen in roots.items() if _contents(seen) > 1),
            doubled=tuple(database.doubled),
            reasons=Counter(each.reason for seen in roots.values() for each in seen if each.topic == Topic.DLQ),
        )


def end_of(seen: Collection[Seen], database: Database) -> End:
    """How a root ended, judged by the furthest that it came; each end has to show in a topic or in SQL."""
    topics = {each.topic for each in seen}
    content_ids = {each.content_id for each in seen if each.content_id}
    statuses = {database.contents.get(content_id, "") for content_id in content_ids}
    if Topic.ENRICHED in topics and ContentStatus.ENRICHED in statuses:
        return End.ENRICHED
    if Topic.DLQ in topics:
        return End.DEAD
    if Topic.NORMALIZED in topics:
        return End.REJECTED if ContentStatus.REJECTED in statuses else End.LOST
    crawl = next((each for each in seen if each.topic in CRAWLS), None)
    if Topic.FETCHED in topics:
        if any(each.target_type != TargetType.ARTICLE for each in seen):
            return End.LINKS
        return End.INDEX if any(each.url in database.blacklisted for each in seen) else End.LOST
    return End.UNCHANGED if crawl and crawl.url in database.stored else End.LOST


def _dead_by_design(seen: Collection[Seen]) -> bool:
    return any(each.topic == Topic.DLQ and each.reason in ALLOWED_REASONS for each in seen)


def _contents(seen: Collection[Seen]) -> int:
    return len({each.content_id for each in seen if each.topic == Topic.NORMALIZED})


def _amiss(root_id: str, seen: Collection[Seen], why: "object") -> Amiss:
    places = tuple(each.place for each in sorted(seen, key=lambda each: each.at_ms)[-6:])
    url = next((each.url for each in seen if each.url), "")
    return Amiss(root_id, url, why(seen), places)  # type: ignore[operator]


def _where_lost(seen: Collection[Seen]) -> str:
    if not seen:
        return "never reached a topic"
    return f"went no further than {max(seen, key=lambda each: each.at_ms).topic}"


def _against(expected: Expected, end: End) -> str:
    return f"had to be {expected.end.value}, was {end.value}"
