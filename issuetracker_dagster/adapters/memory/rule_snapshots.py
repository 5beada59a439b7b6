"""Versions of the priority rules, in memory."""

import threading
from collections.abc import Sequence

import msgspec

from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.ports.rules import RuleSnapshot


class MemoryRuleSnapshots:
    """The port `RuleSnapshots`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshots: list[RuleSnapshot] = []

    def latest_version(self) -> int:
        return len(self._snapshots)

    def latest(self) -> RuleSnapshot | None:
        return self._snapshots[-1] if self._snapshots else None

    def save(
        self, fingerprint: str, rules: Sequence[PriorityRule], created_ms: int, refused: Sequence[str] = ()
    ) -> int:
        with self._lock:
            if self._snapshots and self._snapshots[-1].fingerprint == fingerprint:
                self._mark(len(self._snapshots), created_ms)
            else:
                self._snapshots.append(
                    RuleSnapshot(
                        version=len(self._snapshots) + 1,
                        fingerprint=fingerprint,
                        rules=tuple(rules),
                        created_ms=created_ms,
                        checked_ms=created_ms,
                        refused=tuple(refused),
                    )
                )
            return len(self._snapshots)

    def checked(self, version: int, at_ms: int) -> None:
        with self._lock:
            self._mark(version, at_ms)

    def _mark(self, version: int, at_ms: int) -> None:
        if 1 <= version <= len(self._snapshots):
            known = self._snapshots[version - 1]
            self._snapshots[version - 1] = msgspec.structs.replace(known, checked_ms=max(known.checked_ms, at_ms))
