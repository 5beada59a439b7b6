"""Stored articles, chosen by where and when they were fetched and by whom they were read."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Engine, Select, func, or_, select

from issuetracker_dagster.adapters.sql.engine import reading
from issuetracker_dagster.adapters.sql.tables_contents import ContentMetaRow, ContentRow, RawContentRow
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.reparse import PageFilter, StoredArticle

_SOURCE = func.coalesce(func.nullif(RawContentRow.source, ""), ContentRow.source, "")
"""Pages of before `raw_contents` had the column are known by their content only."""


class SqlStoredArticles:
    """The port `StoredArticles`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def after(self, wanted: PageFilter, raw_id: int, limit: int) -> Sequence[StoredArticle]:
        row = RawContentRow
        columns = (row.raw_id, row.url, row.requested_url, row.fetched_ms, row.stored_by, _SOURCE.label("source"))
        query = _meant(select(*columns), wanted).where(row.raw_id > raw_id).order_by(row.raw_id).limit(limit)
        with reading(self._engine) as connection:
            found = [StoredArticle(**each) for each in connection.execute(query).mappings()]
        # Two contents name one page when its canonical URL changed.
        return list({article.raw_id: article for article in found}.values())

    def count(self, wanted: PageFilter) -> int:
        with reading(self._engine) as connection:
            query = _meant(select(func.count(RawContentRow.raw_id.distinct())), wanted)
            return int(connection.execute(query).scalar_one())


def _meant(query: Select[Any], wanted: PageFilter) -> Select[Any]:
    return (
        query.select_from(RawContentRow)
        .outerjoin(ContentRow, ContentRow.raw_id == RawContentRow.raw_id)
        .outerjoin(ContentMetaRow, ContentMetaRow.content_id == ContentRow.content_id)
        .where(RawContentRow.target_type == TargetType.ARTICLE.value, *_conditions(wanted))
    )


def _conditions(wanted: PageFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.host:
        yield or_(*(RawContentRow.url.like(form, escape="\\") for form in _forms(wanted.host)))
    if wanted.sources:
        yield _SOURCE.in_(wanted.sources)
    if wanted.since_ms:
        yield RawContentRow.fetched_ms >= wanted.since_ms
    if wanted.before_ms:
        yield RawContentRow.fetched_ms < wanted.before_ms
    if wanted.code_version:
        yield ContentMetaRow.code_version == wanted.code_version
    if wanted.other_than:
        yield ContentMetaRow.code_version != wanted.other_than
    if wanted.missed:
        yield ContentMetaRow.field_sources["rule"].as_string().like("missed:%")


def _forms(host: str) -> Iterator[str]:
    """How normalised URLs of a host begin; a wildcard's dot keeps the host itself out."""
    front = "%." if host.startswith("*.") else ""
    bare = host.removeprefix("*.").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    for scheme in ("http", "https"):
        for end in ("/%", ":%"):
            yield f"{scheme}://{front}{bare}{end}"
