"""How rules, and what becomes of them, are put into words for the terminal."""

from collections.abc import Iterable, Mapping, Sequence

import click

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.flow.explain import Explanation
from issuetracker_dagster.flow.preview import Preview
from issuetracker_dagster.flow.refresh import RefreshReport
from issuetracker_dagster.flow.rule_set import Change
from issuetracker_dagster.model.durations import about_duration, exact_duration
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import ParserRule, PriorityRule, SelectorSpec
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.wiring.parts import Wiring

ANY_PATH = "(any path)"

now_option = click.option("--now", is_flag=True, help="Refresh the publishers' rules at once.")


def named(rule: ParserRule) -> str:
    """Host, path and type, which name a rule."""
    return f"{rule.host_pattern} {rule.path_pattern or ANY_PATH} ({rule.target_type.value})"


def listed(rules: Sequence[ParserRule]) -> list[str]:
    """A line for each rule under a line of headings."""
    rows = [
        (
            str(rule.rule_id),
            Priority(rule.crawl_priority).label,
            rule.host_pattern,
            rule.path_pattern or ANY_PATH,
            rule.target_type.value,
            str(rule.version),
            ("on" if rule.enabled else "off") + (", broken" if rule.fault else ""),
        )
        for rule in rules
    ]
    lines = columns([("id", "priority", "host", "path", "type", "version", "state"), *rows], right=frozenset({0}))
    return lines + [f"{rule.fault}; it reads no page until that is mended in the database" for rule in broken(rules)]


def broken(rules: Iterable[ParserRule]) -> list[ParserRule]:
    """Those whose row can't be read as a whole."""
    return [rule for rule in rules if rule.fault]


def changed(changes: Sequence[Change]) -> list[str]:
    """A line for each change."""
    return [f"{named(change.after)}: {', '.join(change.words)}" for change in changes]


def successor(rule_id: int, rule: ParserRule) -> str:
    """A rule by its number and, when it was asked for by another one, by that first: `Rule 31 is now rule 32`."""
    if rule.rule_id == rule_id:
        return f"Rule {rule_id}"
    return f"Rule {rule_id} is now rule {rule.rule_id} (version {rule.version})"


def selectors_changed(before: Mapping[str, SelectorSpec], after: Mapping[str, SelectorSpec]) -> list[str]:
    """Two lines for each field whose selector is another: before and after, with all that belongs to them."""
    rows = [
        row
        for field in dict.fromkeys([*before, *after])
        if before.get(field) != after.get(field)
        for row in ((field, "before", _selector(before.get(field))), ("", "after", _selector(after.get(field))))
    ]
    return [f"  {line}" for line in columns(rows)] if rows else []


def _selector(spec: SelectorSpec | None) -> str:
    if spec is None:
        return "(none)"
    attribute = f", attribute {spec.attribute}" if spec.attribute else ""
    return f"{spec.css}  ({'all matches' if spec.multi else 'first match only'}{attribute})"


def explained(url: str, found: Explanation) -> list[str]:
    """Who decides about a URL, who was asked before and who would have been next."""
    if found.decides is None:
        verdict = ("normal", "no rule matches")
    else:
        verdict = (found.decides.priority.label, f"by {_priority_rule(found.decides)}")
    rows = [("host", found.host), ("path", found.path), verdict]
    rows += [("passed", f"{_priority_rule(rule)}, asked before, doesn't match") for rule in found.passed[:10]]
    if len(found.passed) > 10:
        rows.append(("passed", f"and {len(found.passed) - 10} more rules of this host"))
    if found.decides is not None:
        follower = f"{_priority_rule(found.next)}" if found.next else "no other rule: normal"
        rows.append(("next", follower))
    return [url, *(f"  {line}" for line in columns(rows))]


def previewed(found: Preview) -> list[str]:
    """What would move, by host, and in all."""
    lines = [f"Looked at the last {found.looked_at} published URLs."]
    if found.fixed:
        lines.append(f"Of these {found.fixed} had a priority that no rule changes: their own, or that of their source.")
    if not found.moves:
        return [*lines, "No URL would move."]
    rows = [
        (move.host, f"{move.before.label} -> {move.after.label}", str(move.count), move.sample) for move in found.moves
    ]
    lines += columns([("host", "move", "URLs", "such as"), *rows], right=frozenset({2}))
    totals = ", ".join(f"{priority.label} {found.total(priority):+}" for priority in Priority)
    return [*lines, f"{found.moved} would move: {totals}."]


def refreshed(report: RefreshReport, limit: int) -> list[str]:
    """What a refresh found."""
    if report.is_new:
        # A rule that reads otherwise has another number, which makes a new version of the snapshot as well.
        news = "no priority changed"
        if report.added or report.removed or report.changed:
            news = f"{report.added} added, {report.removed} removed, {report.changed} changed"
        lines = [f"Publishers follow within seconds: version {report.version}, {_bands(report.by_band)}; {news}."]
    else:
        lines = [f"Nothing to refresh: version {report.version} is up to date, {_bands(report.by_band)}."]
    lines += [f"Refused: {reason}" for reason in report.refused]
    if report.truncated:
        lines.append(f"Only the first {limit} rules are used (PRIORITY_RULES_LOAD_LIMIT).")
    return lines


def tell_when(wiring: Wiring, *, now: bool, reads_otherwise: bool = False, same_priorities: bool = False) -> None:
    """Say when parsers and publishers follow a change that was just saved, or see to it at once.

    Only priorities wait for a refresh: how pages are read is looked up every few seconds.
    """
    publish = wiring.settings.publish
    if reads_otherwise:
        within = exact_duration(ParserOptions().rules_ttl_ms)
        click.echo(f"Pages are read that way within {within}; that needs no refresh.")
    if now:
        say(refreshed(wiring.rules_refresher.refresh(), publish.priority_rules_load_limit))
    elif same_priorities:
        click.echo("Priorities are as before.")
    else:
        interval = about_duration(publish.priority_rules_refresh_interval)
        command = "`issuetracker rules refresh`"
        click.echo(f"Publishers follow with the next refresh, in at most {interval}; {command} does it now.")


def count_of(number: int, word: str) -> str:
    """`1 rule`, `2 rules`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def say(lines: Sequence[str]) -> None:
    """Print these lines."""
    for line in lines:
        click.echo(line)


def _priority_rule(rule: PriorityRule) -> str:
    name = f"rule {rule.rule_id}" if rule.rule_id else "a new rule"
    return f"{name}: {rule.host} {rule.path or ANY_PATH}, {rule.priority.label}"


def _bands(by_band: Mapping[Priority, int]) -> str:
    counts = ", ".join(f"{by_band[priority]} {priority.label}" for priority in Priority)
    return f"{count_of(sum(by_band.values()), 'rule')} ({counts})"
