"""The read side of the database: what the CLI, checks and analysts look at."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.records import Issue


class DeadLetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter as people look for it. `url` is empty when the payload names none."""

    identity: str
    stage: str
    reason: str
    error: str
    priority: int
    url: str
    at_ms: int


class ContentView(msgspec.Struct, frozen=True, kw_only=True):
    """A content with what became of it. `code` is empty unless rejected, `issue_id` 0 while in no issue."""

    content_id: int
    url: str
    host: str
    title: str
    language: str
    status: str
    code: str = ""
    quality: float = 0.0
    published_ms: int = 0
    fetched_ms: int = 0
    issue_id: int = 0
    trust: float = 0.0
    factors: dict[str, float] = {}
    rationale: str = ""


class IssueView(msgspec.Struct, frozen=True, kw_only=True):
    """An issue with the hosts that report it and the contents in it, oldest first."""

    issue: Issue
    hosts: tuple[str, ...]
    content_ids: tuple[int, ...]


class Reports(Protocol):
    """The read side, for the CLI, checks and analysts."""

    def counts(self) -> Mapping[str, int]:
        """Rows by thing (`contents`, `issues`, ...) and by status (`contents.rejected`, `issues.active`, ...).

        Of dead letters those that are open."""

    def contents(self, limit: int) -> Sequence[ContentView]:
        """The latest contents, newest first."""

    def issues(self, limit: int) -> Sequence[IssueView]:
        """Issues that have members, latest seen first."""

    def dead_letters(self, limit: int) -> Sequence[DeadLetterView]:
        """The latest dead letters, newest first."""

    def rendered_hosts(self) -> Sequence[str]:
        """The host patterns of fetcher rules that ask for rendering, in alphabetical order."""
