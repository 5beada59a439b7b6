"""The index of the DLQ, and the way back from it to the record in Kafka."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from issuetracker_dagster.model.letters import Indexed, Letter, LetterFilter, LetterState
from issuetracker_dagster.model.message import Record


class DeadLetterIndex(Protocol):
    """A searchable index of the DLQ. Kafka holds the letters; what they say and what became of them is here.

    All raise `Unavailable`.
    """

    def record(self, letters: Sequence[Indexed]) -> int:
        """Store a batch, all or nothing; returns how many are new. One with a known name changes nothing."""

    def get(self, letter_id: int) -> Letter | None: ...

    def newest(self, wanted: LetterFilter, limit: int) -> Sequence[Letter]:
        """The letters meant, youngest first."""

    def after(self, wanted: LetterFilter, letter_id: int, limit: int) -> Sequence[Letter]:
        """The letters meant with a higher id, lowest id first: the order in which they are worked through."""

    def kept(self, letter_ids: Collection[int]) -> Mapping[int, Record]:
        """The records that were small enough to be kept, by letter."""

    def count(self, wanted: LetterFilter | None = None) -> int:
        """How many letters are meant; None means every row."""

    def tally(self, wanted: LetterFilter) -> Mapping[tuple[str, str], int]:
        """Letters that are meant by (stage, reason); the commonest thousand pairs."""

    def mark(self, letter_ids: Collection[int], state: LetterState, at_ms: int) -> int:
        """Give open letters another state; returns how many were still open."""

    def purge(self, wanted: LetterFilter, at_ms: int) -> int:
        """Mark all open letters that are meant as purged, whatever states `wanted` names; returns how many."""

    def remove(self, before_ms: int, limit: int = 0) -> int:
        """Take rows of letters out that died before then, at most `limit` of them (0: all); returns how many."""


class LetterReader(Protocol):
    """Reads single records of the DLQ."""

    def read(self, letter: Letter) -> Record | None:
        """The letter's record, or None when retention has removed it. Raises `Unavailable`."""
