"""Seeds in memory."""

import threading
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.seeds import Seed, check_seed


class MemorySeeds:
    """The port `Seeds`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seeds: dict[str, Seed] = {}

    def due(self, now_ms: int, limit: int) -> Sequence[Seed]:
        due = [seed for seed in self._seeds.values() if seed.enabled and seed.next_due_ms <= now_ms]
        return sorted(due, key=lambda seed: (seed.next_due_ms, seed.seed_id))[:limit]

    def scheduled(self, seed_id: int, next_due_ms: int) -> None:
        with self._lock:
            for url, seed in self._seeds.items():
                if seed.seed_id == seed_id:
                    self._seeds[url] = msgspec.structs.replace(seed, next_due_ms=next_due_ms)

    def add(self, seeds: Sequence[Seed]) -> int:
        for seed in seeds:
            check_seed(seed)
        with self._lock:
            before = len(self._seeds)
            for seed in seeds:
                if seed.url not in self._seeds:
                    self._seeds[seed.url] = msgspec.structs.replace(seed, seed_id=len(self._seeds) + 1)
            return len(self._seeds) - before

    def all(self) -> Sequence[Seed]:
        return list(self._seeds.values())
