"""Who belongs to issues, read: with their texts, or by the thousand with what it takes to compare them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Select

from issuetracker_dagster.adapters.sql import issue_statements as statements
from issuetracker_dagster.ports.stores import MemberView

_IDS_AT_ONCE = 500


def members_of(connection: Connection, issue_id: int, *, with_texts: bool) -> list[MemberView]:
    """The members of an issue, oldest first."""
    return _read(connection, statements.MEMBERS_OF_ISSUE, {"issue_id": issue_id}, with_texts=with_texts)


def members_among(connection: Connection, content_ids: Collection[int]) -> list[MemberView]:
    """Those of the contents that are members, with texts, in order of id."""
    found: list[MemberView] = []
    for some in batches(sorted(set(content_ids))):
        found += map(_told, connection.execute(statements.MEMBERS_AMONG, {"content_ids": some}))
    return found


def members_of_open_issues(
    connection: Connection, language: str, since_ms: int, limit: int, *, with_texts: bool
) -> list[MemberView]:
    """At most `limit` of them, newest first, in time that goes by the limit and not by how many there are.

    The newest come from the index of what was seen last. Only when it has none left since `since_ms` all issues that
    count are known by a member, and their older members are looked up issue by issue. One query for both would sort all
    members of all open issues each time, or walk through all that was ever seen.
    """
    bounds = {"since_ms": since_ms, "limit": limit}
    found = _read(connection, statements.MEMBERS_SEEN_SINCE, {"language": language, **bounds}, with_texts=with_texts)
    if len(found) == limit:
        return found
    older: list[MemberView] = []
    for some in batches(sorted({view.issue_id for view in found})):
        theirs = {"issue_ids": some, **bounds}
        older += _read(connection, statements.MEMBERS_SEEN_BEFORE, theirs, with_texts=with_texts)
    older.sort(key=lambda view: (-view.seen_ms, -view.content_id))
    return [*found, *older][:limit]


def batches(ids: Sequence[int]) -> Iterator[list[int]]:
    """The ids by as many as one statement may name."""
    rest = iter(ids)
    while some := list(islice(rest, _IDS_AT_ONCE)):
        yield some


def _read(
    connection: Connection,
    queries: Mapping[bool, Select[Any]],
    values: Mapping[str, object],
    *,
    with_texts: bool,
) -> list[MemberView]:
    rows = connection.execute(queries[with_texts], dict(values))
    return list(map(_told if with_texts else _known, rows))


def _known(row: Sequence[Any]) -> MemberView:
    # By place: thousands of these are made for each content that is clustered.
    content_id, issue_id, host, title, language, published_ms, seen_ms = row
    return MemberView(content_id, issue_id, host, title, "", language, published_ms, seen_ms, (), ())


def _told(row: Sequence[Any]) -> MemberView:
    content_id, issue_id, host, title, language, published_ms, seen_ms, keywords, entities, body = row
    texts = (tuple(keywords), tuple(entities))
    return MemberView(content_id, issue_id, host, title, body, language, published_ms, seen_ms, *texts)
