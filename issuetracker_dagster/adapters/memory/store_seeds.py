"""Seeds in memory."""

import itertools
import threading
from collections.abc import Collection, Sequence

import msgspec

from issuetracker_dagster.model.seeds import Seed, check_seed


class MemorySeeds:
    """The port `Seeds`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seeds: dict[str, Seed] = {}
        self._next_id = itertools.count(1)

    def due(self, now_ms: int, limit: int, after: Seed | None = None) -> Sequence[Seed]:
        start = (after.next_due_ms, after.seed_id) if after is not None else (float("-inf"), 0)
        due = [seed for seed in self.all() if seed.enabled and seed.next_due_ms <= now_ms]
        behind = [seed for seed in due if (seed.next_due_ms, seed.seed_id) > start]
        return sorted(behind, key=lambda seed: (seed.next_due_ms, seed.seed_id))[:limit]

    def watched(self) -> Sequence[Seed]:
        return [seed for seed in self.all() if seed.enabled and seed.freshness_ms > 0]

    def scheduled(self, seeds: Sequence[Seed]) -> None:
        with self._lock:
            for seed in seeds:
                known = self._seeds.get(seed.url)
                if known is None or known.seed_id != seed.seed_id or _was_edited(known, seed):
                    continue
                self._seeds[seed.url] = msgspec.structs.replace(
                    known,
                    next_due_ms=seed.next_due_ms,
                    interval_ms=seed.interval_ms,
                    body_sha256=seed.body_sha256,
                    published_ms=seed.published_ms,
                )

    def add(self, seeds: Sequence[Seed]) -> int:
        for seed in seeds:
            check_seed(seed)
        with self._lock:
            before = len(self._seeds)
            for seed in seeds:
                if seed.url not in self._seeds:
                    self._seeds[seed.url] = msgspec.structs.replace(seed, seed_id=next(self._next_id))
            return len(self._seeds) - before

    def put(self, seeds: Sequence[Seed]) -> int:
        for seed in seeds:
            check_seed(seed)
        with self._lock:
            size = len(self._seeds)
            for seed in seeds:
                known = self._seeds.get(seed.url)
                self._seeds[seed.url] = msgspec.structs.replace(
                    seed,
                    seed_id=known.seed_id if known else next(self._next_id),
                    body_sha256=known.body_sha256 if known else seed.body_sha256,
                    published_ms=known.published_ms if known else seed.published_ms,
                )
            return len(self._seeds) - size

    def get(self, seed_id: int) -> Seed | None:
        return next((seed for seed in self.all() if seed.seed_id == seed_id), None)

    def by_url(self, url: str) -> Seed | None:
        return self._seeds.get(url)

    def set_enabled(self, urls: Collection[str], *, enabled: bool, now_ms: int) -> int:
        with self._lock:
            known = [seed for url in set(urls) if (seed := self._seeds.get(url)) and seed.enabled != enabled]
            for seed in known:
                since_ms = now_ms if enabled else seed.since_ms
                self._seeds[seed.url] = msgspec.structs.replace(seed, enabled=enabled, since_ms=since_ms)
        return len(known)

    def remove(self, urls: Collection[str]) -> int:
        with self._lock:
            return sum(self._seeds.pop(url, None) is not None for url in set(urls))

    def count_of(self, source: str) -> int:
        return sum(seed.source == source for seed in self.all())

    def all(self) -> Sequence[Seed]:
        with self._lock:
            return list(self._seeds.values())


def _was_edited(known: Seed, read: Seed) -> bool:
    if (known.min_interval_ms, known.max_interval_ms) != (read.min_interval_ms, read.max_interval_ms):
        return True
    return not known.max_interval_ms and known.interval_ms != read.interval_ms
