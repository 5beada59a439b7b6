"""What the `rules` commands take: rules named by their numbers, by a host, or by the place that they are about."""

from collections.abc import Iterable

import click

from issuetracker_dagster.cli.rule_words import named
from issuetracker_dagster.flow.rule_set import place_of_rule
from issuetracker_dagster.model.rules import ParserRule, host_forms
from issuetracker_dagster.ports.rules import ParserRules


def existing(stored: ParserRules, rule_id: int) -> ParserRule:
    """The rule of which that is a version; raises `ClickException` when there is none."""
    found = stored.get(rule_id)
    if found is None:
        raise no_rule(rule_id)
    return found


def no_rule(rule_id: int) -> click.ClickException:
    """The error for a number that no rule has."""
    return click.ClickException(f"there is no rule {rule_id}; `issuetracker rules list` shows them")


def refuse_second(stored: ParserRules, wanted: ParserRule) -> None:
    """Raise `ClickException` that names the rule which is about that host, path and type already."""
    for rule in stored.all():
        if place_of_rule(rule) == place_of_rule(wanted):
            hint = "edit" if rule.enabled else "enable"
            command = f"`issuetracker rules {hint} {rule.rule_id}`"
            raise click.ClickException(f"rule {rule.rule_id} is about {named(wanted)} already; see {command}")


def of_host(rules: Iterable[ParserRule], host: str) -> list[ParserRule]:
    """Those that are asked for a host, in the order in which they are; wildcards above it come last."""
    forms = host_forms(host)
    return sorted(
        (rule for rule in rules if rule.host_pattern in forms),
        key=lambda rule: (forms.index(rule.host_pattern), -len(rule.path_pattern)),
    )
