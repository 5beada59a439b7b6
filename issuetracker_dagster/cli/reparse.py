"""`issuetracker reparse`: stored pages are read again, without fetching them."""

import click

from issuetracker_dagster.cli.arguments import RULE_ID, host_name, priority_word
from issuetracker_dagster.cli.progress import bar
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.reparse import TARGET, ReparseOptions, ReparseReport
from issuetracker_dagster.model.moments import moment_ms
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.reparse import PageFilter
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.reparse import reparser

OTHER = "other"


def moment(context: click.Context, parameter: click.Parameter, value: str | None) -> int:
    """Callback of an option that takes a moment."""
    del context, parameter
    try:
        return moment_ms(value) if value else 0
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.option("--host", default="", callback=host_name, help="Only this host; *.example.com: every host below.")
@click.option(
    "--source", "sources", multiple=True, help="Only what this source (the name of seeds) asked for; repeatable."
)
@click.option(
    "--rule",
    "rule_id",
    type=RULE_ID,
    help="Only where that rule reads, whichever of its numbers is given: see `rules list` and `rules show`.",
)
@click.option("--missed", is_flag=True, help="Only pages on which their rule found nothing, as after a new layout.")
@click.option(
    "--parser-version",
    default="",
    metavar="VERSION",
    help="Only what this version of the parser's code read; `other`: any but the present one.",
)
@click.option(
    "--from",
    "since_ms",
    callback=moment,
    metavar="TIME",
    help="Fetched at or after: 2026-11-30, or 2026-11-30T08:00 (UTC).",
)
@click.option("--to", "before_ms", callback=moment, metavar="TIME", help="Fetched before, likewise.")
@click.option(
    "--after", type=click.IntRange(0), default=0, help="Go on behind this page, as the command said when it ended."
)
@click.option("--limit", type=click.IntRange(1), help="Most pages; default: all that are meant.")
@click.option("--priority", callback=priority_word, default="low", show_default=True, help="high, normal or low.")
@click.option(
    "--target",
    type=click.IntRange(1),
    default=TARGET,
    show_default=True,
    help="Wait while so many messages wait for the parser.",
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Don't ask, which is done when nothing says which pages.")
def reparse(
    host: str,
    sources: tuple[str, ...],
    rule_id: int | None,
    missed: bool,
    parser_version: str,
    since_ms: int,
    before_ms: int,
    after: int,
    limit: int | None,
    priority: Priority,
    target: int,
    dry_run: bool,
    yes: bool,
) -> None:
    """Read stored articles again, from the parser to the enricher; nothing is fetched.

    After a change of a rule or of the program: contents are updated in place, each once, and issues follow. No links
    are published. The parser must run; the command waits while it has enough to do.
    """
    from issuetracker_dagster.stages.parser.version import code_version

    if before_ms and since_ms >= before_ms:
        raise click.UsageError("--from must be before --to, or no page is meant")
    wiring = Wiring(Settings())
    wanted = PageFilter(
        host=host,
        sources=sources,
        since_ms=since_ms,
        before_ms=before_ms,
        code_version="" if parser_version == OTHER else parser_version,
        other_than=code_version() if parser_version == OTHER else "",
        missed=missed,
    )
    rule = _rule(wiring, rule_id)
    options = ReparseOptions(after=after, limit=limit or 0, target=target, priority=priority, dry_run=dry_run)
    total = wiring.stores.stored_articles.count(wanted)
    if total and not (dry_run or yes or rule or limit or wanted != PageFilter()):
        click.confirm(f"Nothing says which. Read all {total} stored articles again?", abort=True)
    report = _with_progress(wiring, wanted, options, rule, total)
    verb = "would be read again" if dry_run else "are read again"
    click.echo(f"{report.published} of {report.looked_at} pages looked at {verb}.")
    if report.reached and limit and report.published == limit:
        click.echo(f"Go on with --after {report.reached}.")


def _rule(wiring: Wiring, rule_id: int | None) -> ParserRule | None:
    if rule_id is None:
        return None
    rule = wiring.stores.parser_rules.get(rule_id)
    if rule is None:
        raise click.BadParameter(
            f"there is no rule {rule_id}; `issuetracker rules list` shows them", param_hint="--rule"
        )
    return rule


def _with_progress(
    wiring: Wiring, wanted: PageFilter, options: ReparseOptions, rule: ParserRule | None, total: int
) -> ReparseReport:
    reached = options.after
    with bar("dry run" if options.dry_run else "reading again", total) as done:

        def told(report: ReparseReport) -> None:
            nonlocal reached
            reached = report.reached
            done(report.looked_at)

        try:
            return reparser(wiring).run(wanted, options, rule=rule, told=told)
        except TransientError as error:
            raise click.ClickException(f"{error}; go on with --after {reached}") from None
        except KeyboardInterrupt:
            raise click.ClickException(f"interrupted; go on with --after {reached}") from None
