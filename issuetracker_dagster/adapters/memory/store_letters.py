"""The index of the DLQ in memory."""

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from issuetracker_dagster.adapters.memory.store_contents import MemoryRawContents
from issuetracker_dagster.model.letters import Indexed, Letter, LetterFilter, LetterState, decode_record
from issuetracker_dagster.model.message import Record


class MemoryDeadLetterIndex:
    """The port `DeadLetterIndex`. `raw_contents` is told which pages letters still need."""

    def __init__(self, raw_contents: MemoryRawContents | None = None) -> None:
        self._raw_contents = raw_contents
        self._lock = threading.RLock()
        self._names: dict[str, int] = {}
        self._records: dict[int, bytes] = {}
        self._last_id = 0
        self.letters: dict[int, Letter] = {}

    def record(self, letters: Sequence[Indexed]) -> int:
        with self._lock:
            new = 0
            for each in letters:
                if each.name not in self._names:
                    self._last_id += 1
                    self._names[each.name] = self._last_id
                    self.letters[self._last_id] = msgspec.structs.replace(each.letter, letter_id=self._last_id)
                    self._records[self._last_id] = each.record
                    new += 1
            self._tell_raw_contents()
            return new

    def get(self, letter_id: int) -> Letter | None:
        return self.letters.get(letter_id)

    def newest(self, wanted: LetterFilter, limit: int) -> Sequence[Letter]:
        found = sorted(self._meant(wanted), key=lambda letter: (letter.at_ms, letter.letter_id), reverse=True)
        return found[:limit]

    def after(self, wanted: LetterFilter, letter_id: int, limit: int) -> Sequence[Letter]:
        return [letter for letter in self._meant(wanted) if letter.letter_id > letter_id][:limit]

    def kept(self, letter_ids: Collection[int]) -> Mapping[int, Record]:
        with self._lock:
            found = {letter_id: self._records.get(letter_id, b"") for letter_id in letter_ids}
        return {letter_id: decode_record(record) for letter_id, record in found.items() if record}

    def count(self, wanted: LetterFilter | None = None) -> int:
        return len(self._meant(wanted)) if wanted else len(self.letters)

    def tally(self, wanted: LetterFilter) -> Mapping[tuple[str, str], int]:
        meant = self._meant(wanted)
        return dict(Counter((letter.stage, letter.reason) for letter in meant).most_common(1_000))

    def mark(self, letter_ids: Collection[int], state: LetterState, at_ms: int) -> int:
        with self._lock:
            marked = 0
            for letter_id in set(letter_ids):
                letter = self.letters.get(letter_id)
                if letter is not None and letter.state is LetterState.OPEN:
                    self.letters[letter_id] = msgspec.structs.replace(letter, state=state, state_ms=at_ms)
                    marked += 1
            self._tell_raw_contents()
            return marked

    def purge(self, wanted: LetterFilter, at_ms: int) -> int:
        meant = msgspec.structs.replace(wanted, states=(LetterState.OPEN,))
        with self._lock:
            return self.mark([letter.letter_id for letter in self._meant(meant)], LetterState.PURGED, at_ms)

    def remove(self, before_ms: int, limit: int = 0) -> int:
        with self._lock:
            dead = [letter_id for letter_id, letter in self.letters.items() if letter.at_ms < before_ms]
            old = set(dead[: limit or None])
            for letter_id in old:
                del self.letters[letter_id], self._records[letter_id]
            self._names = {name: letter_id for name, letter_id in self._names.items() if letter_id not in old}
            self._tell_raw_contents()
            return len(old)

    def _meant(self, wanted: LetterFilter) -> list[Letter]:
        """In the order of their ids."""
        with self._lock:
            return [letter for letter in self.letters.values() if wanted.admits(letter)]

    def _tell_raw_contents(self) -> None:
        if self._raw_contents is not None:
            needed = {letter.raw_id for letter in self.letters.values() if letter.state is not LetterState.PURGED}
            self._raw_contents.kept_for_dead_letters = needed - {0}
