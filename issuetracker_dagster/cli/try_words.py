"""A tried page in lines for the terminal; its texts come cleaned (`model.trial`)."""

from collections.abc import Iterator

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.model.trial import EnrichView, FetchView, ParserView, TrialView, ValidateView

_LINKS = 30


def trial_lines(tried: TrialView) -> list[str]:
    """A block for each stage that the page came to, and what refused it last."""
    lines = columns([("url", tried.url), ("as", tried.target_type.value), ("rules", tried.rules)])
    if tried.fetch is not None:
        lines += ["", "fetch", *_indented(_fetch(tried.fetch))]
    if tried.parser is not None:
        lines += ["", "parser", *_indented(_parser(tried.parser))]
        lines += [f"  {line}" for line in _links(tried.parser)]
    if tried.validate is not None:
        lines += ["", "validate", *_indented(_validate(tried.validate))]
    if tried.enrich is not None:
        lines += ["", "enrich", *_indented(_enrich(tried.enrich))]
    if tried.refused is not None:
        lines += ["", f"Refused by {tried.refused.stage.value}, {tried.refused.code}: {tried.refused.reason}"]
    return lines


def _indented(rows: Iterator[tuple[str, ...]]) -> list[str]:
    return [f"  {line}" for line in columns(list(rows))]


def _fetch(fetch: FetchView) -> Iterator[tuple[str, ...]]:
    delay = f", {fetch.crawl_delay_ms / 1000:g} s between requests" if fetch.crawl_delay_ms else ""
    yield "robots", f"{fetch.robots}{delay}"
    for url in fetch.redirects:
        yield "redirected", f"by {url}"
    yield "asked", fetch.url
    yield "status", str(fetch.status) if fetch.status else "no answer"
    yield "got", f"{fetch.bytes:,} bytes of {fetch.content_type or 'no named type'} in {fetch.elapsed_ms} ms"


def _parser(parser: ParserView) -> Iterator[tuple[str, ...]]:
    yield "found", "", parser.found
    yield "rule", "", parser.rule
    if parser.charset:
        lost = f", {parser.replacement_share:.1%} unreadable" if parser.replacement_share else ""
        yield "charset", "", f"{parser.charset}{lost}"
    for field in parser.fields:
        more = f" ({field.length:,} characters)" if field.name == "body" or field.length > len(field.value) else ""
        yield field.name, field.origin, f"{field.value}{more}"


def _links(parser: ParserView) -> list[str]:
    if parser.found == "article":
        return ["links     those of an article aren't followed"]
    if not parser.verdicts:
        return []
    counts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(parser.verdicts.items()))
    shown = parser.links[:_LINKS]
    rows = [("verdict", "priority", "by", "type", "link")]
    rows += [(link.verdict, link.priority, link.decided_by, link.target_type.value, link.url) for link in shown]
    left = sum(parser.verdicts.values()) - len(shown)
    return [f"links     {counts}", *columns(rows), *([f"and {left:,} more"] if left else [])]


def _validate(validate: ValidateView) -> Iterator[tuple[str, ...]]:
    yield "verdict", "accepted" if validate.accepted else f"refused, {validate.code}: {validate.reason}"
    yield "quality", f"{validate.quality:.2f}"
    for name, score in validate.scores.items():
        yield name, f"{score:.2f}"
    for note in validate.notes:
        yield "note", note


def _enrich(enrich: EnrichView) -> Iterator[tuple[str, ...]]:
    yield "language", enrich.language
    yield "keywords", ", ".join(enrich.keywords)
    yield "entities", ", ".join(enrich.entities)
    for claim in enrich.claims:
        yield "claim", claim
