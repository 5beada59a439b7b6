"""A database in which much was parsed lately: what the health probe reads there has its full length."""

import hashlib
from collections.abc import Mapping

from sqlalchemy import Table, insert

from issuetracker_dagster.adapters.sql.engine import connect, writing
from issuetracker_dagster.adapters.sql.schema import Table as Row
from issuetracker_dagster.adapters.sql.tables_contents import ContentMetaRow, ContentRow, RawContentRow
from issuetracker_dagster.adapters.sql.tables_issues import EnrichedContentRow, IssueRow

HOSTS, ISSUE_OF, BATCH = 200, 4, 10_000
_FIELDS = ("title", "body", "author", "published", "summary", "images", "language")


def fill(database_url: str, count: int, now_ms: int, spread_ms: int) -> None:
    """Put so many pages with their contents into a migrated, empty database, fetched evenly over `spread_ms`."""
    engine = connect(database_url)
    try:
        for first in range(1, count + 1, BATCH):
            numbers = range(first, min(count + 1, first + BATCH))
            with writing(engine) as connection:
                for row in (RawContentRow, ContentRow, ContentMetaRow, EnrichedContentRow, IssueRow):
                    made = [_FACTS[row](each, now_ms - spread_ms * (count - each) // count) for each in numbers]
                    connection.execute(insert(_table(row)), [one for one in made if one])
    finally:
        engine.dispose()


def _raw(number: int, at_ms: int) -> Mapping[str, object]:
    return {
        **dict.fromkeys(("etag", "last_modified", "body_sha256", "stored_by"), ""),
        "raw_id": number,
        "url_hash": hashlib.sha256(b"%d" % number).hexdigest(),
        "requested_url": _url(number),
        "url": _url(number),
        "status": 200,
        "content_type": "text/html",
        "body": b"x" * 200,
        "fetched_ms": at_ms,
        "target_type": "article",
    }


def _content(number: int, at_ms: int) -> Mapping[str, object]:
    return {
        **dict.fromkeys(("canonical_url", "source", "root_id", "digest"), ""),
        "content_id": number,
        "url_hash": hashlib.sha256(b"%d" % number).hexdigest(),
        "url": _url(number),
        "host": _host(number),
        "kind": "news",
        "title": f"What happened as number {number}",
        "language": "en",
        "published_ms": at_ms,
        "fetched_ms": at_ms,
        "raw_id": number,
        "date_required": False,
        "status": "enriched",
    }


def _meta(number: int, _: int) -> Mapping[str, object]:
    return {
        **dict.fromkeys(("author", "category", "summary", "code", "reason"), ""),
        **dict.fromkeys(("replacement_share", "quality", "duplicate_of", "near_duplicate_of"), 0),
        **{name: [] for name in ("tags", "images", "notes")},
        "content_id": number,
        "field_sources": {**dict.fromkeys(_FIELDS, "json-ld"), "rule": f"used:{number % HOSTS + 1}"},
        "accepted": True,
        "scores": {},
    }


def _enriched(number: int, at_ms: int) -> Mapping[str, object]:
    return {
        **dict.fromkeys(("language", "rationale"), ""),
        **{name: [] for name in ("keywords", "entities", "claims", "failed_steps")},
        "content_id": number,
        "issue_id": number - number % ISSUE_OF,
        "trust": 0.5,
        "factors": {},
        "enriched_ms": at_ms,
    }


def _issue(number: int, at_ms: int) -> Mapping[str, object]:
    if number % ISSUE_OF:
        return {}
    return {
        "issue_id": number,
        "title": f"What happened as number {number}",
        "language": "en",
        "first_seen_ms": at_ms,
        "last_seen_ms": at_ms,
        "content_count": ISSUE_OF,
        "source_count": ISSUE_OF,
        "velocity": 1.0,
        "state": "active",
    }


_FACTS = {
    RawContentRow: _raw,
    ContentRow: _content,
    ContentMetaRow: _meta,
    EnrichedContentRow: _enriched,
    IssueRow: _issue,
}


def _host(number: int) -> str:
    return f"news{number % HOSTS}.example.com"


def _url(number: int) -> str:
    return f"https://{_host(number)}/{number}"


def _table(row: type[Row]) -> Table:
    table: Table = row.__table__  # type: ignore[assignment]
    return table
