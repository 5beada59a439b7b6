"""Parser rules: which one holds for a URL, and what its selectors find on a page."""

from collections.abc import Sequence

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.model.urls import BadUrl, decoded_path, host_of, normalise
from issuetracker_dagster.stages.parser.embedded import plain_text
from issuetracker_dagster.stages.parser.fields import Fields, line_of, people, title_line, unique
from issuetracker_dagster.stages.parser.patterns import found_in, host_matches

_LONGEST_BODY = 1_000_000


class RuleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The `options` of a parser rule, read.

    `kind`: `news` or `community`. `article_pattern`: RE2, searched in path and query of a link; empty = any.
    `exclude_patterns`: RE2, one a line. `timezone`: IANA name of dates that name none. `date_required`: `true` or
    `false`, default true for news. `same_host_only`: `true` drops links to other hosts.
    """

    kind: str = "news"
    article_pattern: str = ""
    exclude_patterns: tuple[str, ...] = ()
    timezone: str = ""
    date_required: bool = True
    same_host_only: bool = False


def options_of(rule: ParserRule | None) -> RuleOptions:
    """The rule's options; without a rule nothing is required of a page."""
    if rule is None:
        return RuleOptions(date_required=False)
    given = rule.options
    kind = "community" if given.get("kind", "").strip().lower() == "community" else "news"
    return RuleOptions(
        kind=kind,
        article_pattern=given.get("article_pattern", ""),
        exclude_patterns=tuple(line.strip() for line in given.get("exclude_patterns", "").splitlines() if line.strip()),
        timezone=given.get("timezone", "").strip(),
        date_required=given.get("date_required", "false" if kind == "community" else "true").strip().lower() != "false",
        same_host_only=given.get("same_host_only", "").strip().lower() == "true",
    )


def rule_for(rules: Sequence[ParserRule], url: str) -> ParserRule | None:
    """The rule that holds: exact host before wildcard, longest matching path pattern, newest version."""
    try:
        host, path = host_of(url), decoded_path(url)
    except BadUrl:
        return None
    matching = [
        rule for rule in rules
        if rule.enabled and host_matches(rule.host_pattern, host) and found_in(rule.path_pattern, path)
    ]  # fmt: skip
    return max(matching, key=_rank, default=None)


def _rank(rule: ParserRule) -> tuple[bool, int, int, int]:
    return not rule.host_pattern.startswith("*."), len(rule.path_pattern), rule.version, rule.rule_id


def apply_rule(page: LexborHTMLParser, rule: ParserRule) -> Fields | None:
    """What the rule's selectors find; None when title or main_content isn't there, the rule has then missed."""
    values = {name: _values(page, spec, whole=name == "main_content") for name, spec in rule.selectors.items()}

    def first(name: str) -> str:
        return next(iter(values.get(name, ())), "")

    body = "\n\n".join(values.get("main_content", ()))[:_LONGEST_BODY]
    title = title_line(first("title"))
    if not title or not body:
        return None
    return Fields(
        title=title,
        body=body,
        author=people(values.get("author", ())),
        category=line_of(first("category")),
        tags=unique(line_of(tag, 100) for tag in values.get("tags", ())),
        images=unique(values.get("images", ())),
        summary=line_of(first("summary")),
        published=line_of(first("published_at"), 200),
    )


def _values(page: LexborHTMLParser, spec: SelectorSpec, *, whole: bool) -> list[str]:
    try:
        nodes = page.css(spec.css)
    except SelectolaxError:
        # A selector that doesn't parse finds nothing; the rule then shows as missed.
        return []
    texts = (_value(node, spec.attribute, whole=whole) for node in (nodes if spec.multi else nodes[:1]))
    return [text for text in texts if text]


def _value(node: LexborNode, attribute: str, *, whole: bool) -> str:
    if attribute:
        return (node.attributes.get(attribute) or "").strip()
    return plain_text(node.html or "") if whole else line_of(node.text(separator=" "))


def absolute(url: str, base_url: str) -> str:
    """The normalised URL, empty for what is none (`data:` images, say)."""
    try:
        return normalise(url, base_url)
    except BadUrl:
        return ""
