"""What of a read article is kept in SQL, and under which URL."""

from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import RawContentRef
from issuetracker_dagster.model.records import Content
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.stages.parser.article import Article
from issuetracker_dagster.stages.parser.canonical import believed_canonical
from issuetracker_dagster.stages.parser.selection import options_of


def content_of(
    article: Article,
    replacement_share: float,
    url: str,
    payload: RawContentRef,
    context: HandlerContext,
    rule: ParserRule | None,
) -> Content:
    """The content of an article found at `url`; a canonical URL that can be believed takes its place."""
    requested = payload.requested_url or url
    canonical = believed_canonical(article.canonical, url, requested)
    options = options_of(rule)
    fields = article.fields
    return Content(
        raw_id=payload.raw_id,
        root_id=context.root_id,
        url=canonical or url,
        canonical_url=canonical,
        host=host_of(canonical or url),
        source=payload.source,
        kind=options.kind,
        title=fields.title,
        author=fields.author,
        category=fields.category,
        tags=fields.tags,
        images=fields.images,
        summary=fields.summary,
        body=fields.body,
        language=article.language,
        published_ms=article.published_ms,
        fetched_ms=payload.fetched_ms,
        field_sources=article.sources,
        replacement_share=replacement_share,
        date_required=options.date_required,
    )
