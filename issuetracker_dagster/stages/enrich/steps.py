"""The four steps as protocols, and the values that pass between them."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.records import Content, ContentClaim
from issuetracker_dagster.ports.stores import MemberView


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """What one content says. `claims` are sentences of its body, word for word."""

    language: str
    keywords: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()


class Placement(msgspec.Struct, frozen=True):
    """The issue of a content. `merged` says that it joined two issues into one."""

    issue_id: int
    merged: bool = False


class Score(msgspec.Struct, frozen=True):
    """Trust in [0, 1], the factors it is made of, and one sentence that says why."""

    trust: float
    factors: dict[str, float]
    rationale: str


class Extractor(Protocol):
    """Step 1."""

    def extract(self, content: Content) -> Extraction: ...


class Clusterer(Protocol):
    """Step 2. Repeating it for a content leaves it where it is."""

    def place(self, content: Content, extraction: Extraction, *, anew: bool = False) -> Placement:
        """With `anew` the content is taken for as old as its page, and leaves an issue that it isn't linked with."""


class Verifier(Protocol):
    """Step 3."""

    def verify(self, claims: Sequence[str], others: Sequence[MemberView]) -> tuple[ContentClaim, ...]:
        """Each claim with its status against `others`, contents of the same issue by other sources."""


class Scorer(Protocol):
    """Step 4."""

    def score(self, claims: Sequence[ContentClaim], source_count: int, context_completeness: float) -> Score: ...
