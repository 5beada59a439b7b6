"""The worlds in which the contract suites of the stores run: in memory, on SQLite and on PostgreSQL, migrated."""

from typing import Protocol

import msgspec
import pytest

from issuetracker_dagster.model.records import Content, RawContent
from issuetracker_dagster.ports.dead_letters import DeadLetterIndex
from issuetracker_dagster.ports.reports import Reports
from issuetracker_dagster.ports.rules import ParserRules, RuleSnapshots
from issuetracker_dagster.ports.seeds import Seeds
from issuetracker_dagster.ports.stores import Contents, Issues, MemberView, RawContents
from issuetracker_dagster.ports.traces import MessageTrace, PublishedRecent

SQL_WORLDS = ("sqlite", pytest.param("postgres", marks=pytest.mark.services))
WORLDS = ("memory", *SQL_WORLDS)


class Stores(Protocol):
    """What every bundle of stores offers; the type checker holds both bundles to it."""

    @property
    def raw_contents(self) -> RawContents: ...
    @property
    def contents(self) -> Contents: ...
    @property
    def parser_rules(self) -> ParserRules: ...
    @property
    def rule_snapshots(self) -> RuleSnapshots: ...
    @property
    def issues(self) -> Issues: ...
    @property
    def seeds(self) -> Seeds: ...
    @property
    def dead_letters(self) -> DeadLetterIndex: ...
    @property
    def message_trace(self) -> MessageTrace: ...
    @property
    def published_recent(self) -> PublishedRecent: ...
    @property
    def reports(self) -> Reports: ...


def page(url: str = "https://news.example.com/a", body: bytes = b"<p>a</p>", fetched_ms: int = 1_000) -> RawContent:
    """A fetched page."""
    return RawContent(
        url=url, requested_url=url, status=200, body=body, body_sha256=f"sha-{body.hex()}"[:64], fetched_ms=fetched_ms
    )


def article(number: int = 1, **fields: object) -> Content:
    """A parsed article."""
    values: dict[str, object] = {
        "url": f"https://news.example.com/{number}",
        "host": "news.example.com",
        "title": f"Title {number}",
        "body": f"Body of article {number}.",
        "tags": ("a", "b"),
        "field_sources": {"title": "rule"},
        "published_ms": 5_000,
    }
    return msgspec.convert({**values, **fields}, Content)


def member(content_id: int, seen_ms: int = 1_000, **fields: object) -> MemberView:
    """A content as clustering offers it."""
    values: dict[str, object] = {
        "content_id": content_id,
        "issue_id": 0,
        "host": "news.example.com",
        "title": f"Title {content_id}",
        "body": f"Body of article {content_id}.",
        "language": "en",
        "published_ms": 900,
        "seen_ms": seen_ms,
        "keywords": ("flood", "river"),
        "entities": ("Seoul",),
    }
    return msgspec.convert({**values, **fields}, MemberView)
