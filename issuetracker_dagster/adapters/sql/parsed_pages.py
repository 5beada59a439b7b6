"""What parsing made of the pages of a time."""

from collections.abc import Sequence

from sqlalchemy import Engine, select

from issuetracker_dagster.adapters.sql.engine import reading
from issuetracker_dagster.adapters.sql.tables_contents import ContentMetaRow, ContentRow, RawContentRow
from issuetracker_dagster.model.extraction import ParsedPage


class SqlParsedPages:
    """The port `ParsedPages`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def between(self, since_ms: int, before_ms: int, limit: int) -> Sequence[ParsedPage]:
        # By the pages, whose time is indexed; by the contents' own time, too, since a page that was only confirmed
        # (304) wasn't parsed again.
        fetched_ms = RawContentRow.fetched_ms
        query = (
            select(ContentRow.host, ContentRow.url, ContentMetaRow.field_sources, ContentMetaRow.replacement_share)
            .select_from(RawContentRow)
            .join(ContentRow, ContentRow.raw_id == RawContentRow.raw_id)
            .join(ContentMetaRow, ContentMetaRow.content_id == ContentRow.content_id)
            .where(fetched_ms >= since_ms, fetched_ms < before_ms, ContentRow.fetched_ms >= since_ms)
            .order_by(fetched_ms.desc(), RawContentRow.raw_id.desc())
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [
                ParsedPage(host=host, url=url, sources=sources, replacement_share=share)
                for host, url, sources, share in connection.execute(query)
            ]
