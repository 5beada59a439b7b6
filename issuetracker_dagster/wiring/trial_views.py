"""What stages found, as `issuetracker try` shows it: excerpts that can't steer a terminal, of bounded length."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from issuetracker_dagster.flow.resolve import CompositePriorityResolver
from issuetracker_dagster.model.digest import one_line
from issuetracker_dagster.model.marks import MARKS
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.records import Content, Verdict
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.trial import MOST_LINKS, EnrichView, FieldView, LinkView, ParserView, ValidateView
from issuetracker_dagster.stages.enrich.steps import Extraction
from issuetracker_dagster.stages.parser.choosing import JudgedLink, LinkVerdict
from issuetracker_dagster.stages.parser.examine import Examined

_OVER_LIMIT = "over_limit"
_VALUE = 500
_URL = 2_000
_FIELDS = ("title", "author", "category", "tags", "images", "summary", "language", "canonical_url", "body")


def parser_view(
    page: Examined, judged: Sequence[JudgedLink], most: int, chain: CompositePriorityResolver
) -> ParserView:
    """The page with its fields or links; of the links wanted the first `most` would be published."""
    verdicts: Counter[str] = Counter()
    links: list[LinkView] = []
    for one in judged:
        is_over = one.verdict is LinkVerdict.WANTED and verdicts[LinkVerdict.WANTED.value] >= most
        verdict = _OVER_LIMIT if is_over else one.verdict.value
        verdicts[verdict] += 1
        if len(links) < MOST_LINKS:
            links.append(_link(one, verdict, chain))
    return ParserView(
        url=one_line(page.url, _URL),
        found=page.found,
        rule=_rule(page),
        charset=page.reading.charset if page.reading else "",
        replacement_share=page.reading.replacement_share if page.reading else 0.0,
        fields=_fields(page.content) if page.content else (),
        links=tuple(links),
        verdicts=dict(verdicts),
    )


def validate_view(verdict: Verdict) -> ValidateView:
    """The verdict as it is shown."""
    return ValidateView(
        accepted=verdict.accepted,
        code=verdict.code,
        reason=one_line(verdict.reason, _VALUE),
        quality=verdict.quality,
        scores=verdict.scores,
        notes=tuple(one_line(note) for note in verdict.notes),
    )


def enrich_view(extraction: Extraction) -> EnrichView:
    """The extraction as it is shown."""
    return EnrichView(
        language=one_line(extraction.language),
        keywords=tuple(one_line(word) for word in extraction.keywords),
        entities=tuple(one_line(name) for name in extraction.entities),
        claims=tuple(one_line(claim, _VALUE) for claim in extraction.claims),
    )


def _link(one: JudgedLink, verdict: str, chain: CompositePriorityResolver) -> LinkView:
    link = one.link
    priority = decided_by = ""
    if verdict == LinkVerdict.WANTED.value:
        resolution = chain.resolve(CrawlJob(url=link.url, target_type=link.target_type), None)
        priority, decided_by = resolution.priority.label, resolution.decided_by
    return LinkView(
        url=one_line(link.url, _URL),
        target_type=link.target_type,
        verdict=verdict,
        priority=priority,
        decided_by=decided_by,
    )


def _rule(page: Examined) -> str:
    if page.content is not None and page.rule is not None:
        fate = page.content.field_sources.get("rule", "").partition(":")[0]
        return f"{_name(page.rule)}: {fate or 'used, it has no selectors'}"
    rule = page.link_rule or page.rule
    return f"{_name(rule)}: used" if rule else "none"


def _name(rule: ParserRule) -> str:
    number = f"rule {rule.rule_id}" if rule.rule_id else "a new rule"
    return one_line(f"{number} ({rule.host_pattern} {rule.path_pattern or 'any path'}, version {rule.version})")


def _fields(content: Content) -> tuple[FieldView, ...]:
    """Every field that has a value, the body last, and every mark; a language is told by the text itself."""
    origins = {"language": "text", "canonical_url": "page", **content.field_sources}
    values = {name: getattr(content, name) for name in _FIELDS}
    texts = {name: value if isinstance(value, str) else ", ".join(value) for name, value in values.items()}
    if content.published_ms:
        texts = {"published_at": _moment(content.published_ms), **texts}
    texts |= {mark: "yes" for mark in MARKS if mark in content.field_sources}
    return tuple(
        FieldView(name=name, value=one_line(text, _VALUE), length=len(text), origin=one_line(origins.get(name, "")))
        for name, text in texts.items()
        if text
    )


def _moment(unix_ms: int) -> str:
    try:
        return datetime.fromtimestamp(unix_ms / 1000, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return str(unix_ms)  # what validate will clear
