"""`issuetracker report` and `issuetracker settings`: what came out, and what can be set."""

from datetime import UTC, datetime

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from issuetracker_dagster.model.digest import one_line
from issuetracker_dagster.settings.load import Settings, env_example, variables
from issuetracker_dagster.wiring.parts import Wiring

_NAME_WIDTH = 40


@click.command()
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="Rows of each table.")
def report(limit: int) -> None:
    """Show the latest issues and contents, and how many there are of each."""
    reports = Wiring(Settings()).stores.reports
    output = Console()
    issues = Table("issue", "contents", "sources", "state", "last seen", title="Issues")
    for view in reports.issues(limit):
        issue = view.issue
        counts = (str(issue.content_count), str(issue.source_count))
        issues.add_row(_shown(issue.title), *counts, issue.state.value, _time(issue.last_seen_ms))
    output.print(issues)
    contents = Table("title", "host", "status", "trust", title="Contents")
    for content in reports.contents(limit):
        trust = f"{content.trust:.2f}" if content.issue_id else content.code
        contents.add_row(_shown(content.title), _shown(content.host), content.status, trust)
    output.print(contents)
    for name, count in sorted(reports.counts().items()):
        output.print(f"{count:>8}  {name}")


def _shown(text: str) -> str:
    """Text from the web: what is in it steers neither the terminal nor the table."""
    return escape(one_line(text))


def _time(unix_ms: int) -> str:
    return datetime.fromtimestamp(unix_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC") if unix_ms else ""


@click.command()
@click.option("--env-example", "as_example", is_flag=True, help="Print the text of .env.example.")
def settings(as_example: bool) -> None:
    """List every setting with its default and meaning; complains about what is set wrongly."""
    if as_example:
        click.echo(env_example(), nl=False)
        return
    # A name that is cut can't be copied, so its default stands below it and not in a column of its own.
    table = Table(Column("variable, its default", overflow="fold", min_width=_NAME_WIDTH), "meaning")
    for name, default, meaning in variables():
        table.add_row(f"{name}\n  {escape(default)}".rstrip(), escape(meaning))
    Console().print(table)
    Settings()
