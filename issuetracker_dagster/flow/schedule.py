"""Due seeds become crawl jobs: which ones, how urgently, and when to look again."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.publish import Publisher
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.flow.seed_pages import pages_of
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.seeds import Seed, fresh_until_ms, is_stale, may_hurry, next_interval_ms
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import BadUrl
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.seeds import Seeds
from issuetracker_dagster.ports.stores import RawContents

logger = logging.getLogger(__name__)

JITTER = 0.1
"""Share by which the next due time varies, so that seeds of one interval spread out."""

HoldBack = Callable[[Priority], str | None]
"""The reason to leave seeds of that priority for later; None to publish them. Asked once a priority and round."""


class ScheduleReport(msgspec.Struct, frozen=True, kw_only=True):
    """One round in numbers. `due` were looked at; each was published, known a moment ago, refused (by the blacklist or
    as no URL), failed, or held back, by reason. `stale` of the published were asked for at high priority. `outage` is
    why batches stay due that no server took.
    """

    due: int = 0
    published: int = 0
    known: int = 0
    refused: int = 0
    failed: int = 0
    stale: int = 0
    held: Mapping[str, int] = {}
    outage: str = ""

    def __str__(self) -> str:
        parts = [f"{self.published} of {self.due} due seeds published"]
        counts = {"stale, so at high priority": self.stale, "known already": self.known, "refused": self.refused}
        failed = f"failed: {self.outage}; they stay due" if self.outage else "failed, see the log of the code server"
        parts += [f"{count} {word}" for word, count in {**counts, failed: self.failed}.items() if count]
        return "; ".join(parts + [f"{count} held back: {reason}" for reason, count in self.held.items()])


class _Look(msgspec.Struct, frozen=True):
    """A seed to publish: how it asks, and how it goes on afterwards."""

    request: Request
    after: Seed
    stale: bool


def publish_due_seeds(
    seeds: Seeds,
    raw_contents: RawContents,
    publisher: Publisher,
    clock: Clock,
    *,
    hold_back: HoldBack,
    limit: int = 200,
    jitter: Callable[[], float] = random.random,
) -> ScheduleReport:
    """Publish up to `limit` due seeds and every stale one that may hurry, in a batch a priority, high first.

    Order of effects for each batch: publish, then the next due times. Killed in between, its seeds come again under the
    same root ids, which later stages recognise. What is held back stays due: nothing is ever dropped. A batch that
    failed stays due and the others go on; raises `PublishFailed` or `Unavailable` when none could be published.
    """
    round_ = _Round(seeds, publisher, clock.now_ms(), jitter)
    round_.choose(raw_contents, hold_back, limit)
    return round_.publish()


class _Round:
    """One call of `publish_due_seeds`: first chosen, then published."""

    def __init__(self, seeds: Seeds, publisher: Publisher, now_ms: int, jitter: Callable[[], float]) -> None:
        self._seeds = seeds
        self._publisher = publisher
        self._now_ms = now_ms
        self._jitter = jitter
        self._looks: dict[Priority, list[_Look]] = {priority: [] for priority in Priority}
        self._put_off: list[Seed] = []
        self._reasons: dict[Priority, str | None] = {}
        self._held: Counter[str] = Counter()
        self._totals: Counter[str] = Counter()

    def choose(self, raw_contents: RawContents, hold_back: HoldBack, limit: int) -> None:
        """Look at stale seeds, then at due ones until enough may be published: held back ones don't hide the rest."""
        stale = self._stale(raw_contents)
        early = [seed for seed in stale.values() if seed.next_due_ms > self._now_ms][:limit]
        for page in self._pages(early, limit):
            seen = pages_of(page, raw_contents, self._publisher.name_of)
            for seed in page:
                self._choose(seed, seen.get(seed.url, ("", 0)), hold_back, stale=seed.seed_id in stale)
            if sum(map(len, self._looks.values())) >= limit:
                return

    def _stale(self, raw_contents: RawContents) -> dict[int, Seed]:
        """Those that are stale and may hurry, by id, the ones stale for longest first."""
        watched = [seed for seed in self._seeds.watched() if may_hurry(seed, self._now_ms)]
        # Whoever was switched on within its target can't be stale yet, whatever the page's date.
        watched = [seed for seed in watched if is_stale(seed, 0, self._now_ms)]
        seen = pages_of(watched, raw_contents, self._publisher.name_of)
        until = [(fresh_until_ms(seed, seen.get(seed.url, ("", 0))[1]) or 0, seed) for seed in watched]
        over = sorted((each for each in until if each[0] <= self._now_ms), key=lambda each: each[0])
        return {seed.seed_id: seed for _, seed in over}

    def _pages(self, early: Sequence[Seed], limit: int) -> Iterator[Sequence[Seed]]:
        yield early
        page = self._seeds.due(self._now_ms, limit)
        while page:
            yield page
            page = self._seeds.due(self._now_ms, limit, after=page[-1]) if len(page) == limit else ()

    def _choose(self, seed: Seed, seen: tuple[str, int], hold_back: HoldBack, *, stale: bool) -> None:
        self._totals["due"] += 1
        after = _after(seed, *seen, now_ms=self._now_ms, jitter=self._jitter())
        try:
            request = _request(seed, after.interval_ms, stale=stale)
            priority = self._publisher.priority_of(request)
        except BadUrl as error:
            logger.warning("a seed is no URL: %s", error, extra=action("seed.failed"))
            self._give_up(after, "refused")
            return
        except TransientError:
            raise
        except Exception:
            logger.exception("seed %s can't be published", seed.url, extra=action("seed.failed"))
            self._give_up(after, "failed")
            return
        if priority not in self._reasons:
            self._reasons[priority] = hold_back(priority)
        reason = self._reasons[priority]
        if reason is None:
            self._looks[priority].append(_Look(request, after, stale))
        else:
            self._held[reason] += 1

    def _give_up(self, after: Seed, outcome: str) -> None:
        """Until its next due time: at the head of the line it would be tried every few seconds, before the others."""
        self._totals[outcome] += 1
        self._put_off.append(after)

    def publish(self) -> ScheduleReport:
        """Publish what was chosen, a batch a priority."""
        problems: list[TransientError] = []
        for looks in self._looks.values():
            try:
                self._publish(looks)
            except TransientError as error:
                self._totals["failed"] += len(looks)
                logger.warning(
                    "%d seeds stay due: %s", len(looks), error, extra=action("seed.failed", count=len(looks))
                )
                problems.append(error)
        self._seeds.scheduled(self._put_off)
        if problems and not self._totals["published"] + self._totals["known"]:
            raise problems[0]
        for reason, count in self._held.items():
            logger.warning("%d due seeds held back: %s", count, reason, extra=action("throttle.held", count=count))
        return ScheduleReport(**self._totals, held=dict(self._held), outage=str(problems[0]) if problems else "")

    def _publish(self, looks: Sequence[_Look]) -> None:
        if not looks:
            return
        try:
            report = self._publisher.publish([look.request for look in looks])
        except TransientError:
            raise
        except Exception:
            if len(looks) == 1:
                logger.exception("seed %s failed", looks[0].after.url, extra=action("seed.failed"))
                self._give_up(looks[0].after, "failed")
                return
            # One that can't be published at all mustn't keep the others from it.
            for look in looks:
                self._publish([look])
            return
        self._seeds.scheduled([look.after for look in looks])
        self._totals["published"] += len(report.published)
        self._totals["known"] += report.known
        self._totals["refused"] += report.blacklisted + report.malformed
        stale = sum(look.stale for look in looks)
        self._totals["stale"] += stale
        if stale:
            logger.info("%d stale seeds published at high priority", stale, extra=action("seed.stale", count=stale))


def _request(seed: Seed, interval_ms: int, *, stale: bool) -> Request:
    # The job carries the new interval: feeds count as known for half of it, and must be free again by the next look.
    job = CrawlJob(
        url=seed.url,
        source=seed.source,
        target_type=seed.target_type,
        crawler=seed.crawler,
        timeout_ms=seed.timeout_ms,
        interval_ms=interval_ms,
    )
    priority = Priority(seed.priority) if seed.priority is not None else None
    return Request(
        job=job,
        parent=f"seed:{seed.seed_id}:{seed.next_due_ms}",
        priority=Priority.HIGH if stale else priority,
        dedupe=not stale,
    )


def _after(seed: Seed, body_sha256: str, fetched_ms: int, *, now_ms: int, jitter: float) -> Seed:
    """The seed as it goes on after being published now; `jitter` in 0..1."""
    interval_ms = next_interval_ms(seed, body_sha256, fetched_ms)
    if interval_ms != seed.interval_ms:
        logger.debug("seed %s: every %d ms", seed.url, interval_ms, extra=action("seed.adapted", source=seed.source))
    return msgspec.structs.replace(
        seed,
        interval_ms=interval_ms,
        body_sha256=body_sha256 or seed.body_sha256,
        next_due_ms=now_ms + int(interval_ms * (1 + JITTER * (2 * jitter - 1))),
        published_ms=now_ms,
    )
