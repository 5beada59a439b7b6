"""Job `reparse_contents` and partitioned asset `reparsed_contents`: stored pages are read again, without a fetch.

The job takes any choice from the launchpad. The asset is the same by day of the fetch: choose days in the partition
picker of the UI and sources in the launchpad, and one run reads them all.
"""

import warnings
from datetime import UTC, datetime, timedelta

import dagster as dg
from pydantic import Field

from issuetracker_dagster.defs.asset_facts import REPARSE_GUIDE, described
from issuetracker_dagster.defs.assets import table_key
from issuetracker_dagster.defs.fence import Fence, interrupts
from issuetracker_dagster.defs.progress import Progress
from issuetracker_dagster.defs.watched import watched
from issuetracker_dagster.flow.reparse import TARGET, ReparseOptions, ReparseReport
from issuetracker_dagster.model.moments import moment_ms
from issuetracker_dagster.model.priority import priority_from_label
from issuetracker_dagster.model.reparse import PageFilter
from issuetracker_dagster.model.rules import ParserRule, check_host
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.reparse import reparser

REPARSE_JOB = "reparse_contents"
ASSET = "reparsed_contents"
DEFAULT_LIMIT = 1_000
OTHER = "other"
_DAY = "%Y-%m-%d"


class DayConfig(dg.Config):
    """What the launchpad asks for when days are chosen."""

    sources: list[str] = Field([], description="Names of sources, as seeds have them; empty: all")
    host: str = Field("", description="Host; *.example.com means every host below example.com; empty: all")
    priority: str = Field("low", description="high, normal or low (default): the place among what waits for parser")
    target: int = Field(TARGET, ge=1, description=f"Wait while so many messages wait for parser (default {TARGET})")


class ReparseConfig(DayConfig):
    """What the launchpad asks for."""

    dry_run: bool = Field(True, description="true (default) only counts; set it to false to have pages read again")
    rule: int = Field(0, ge=0, description="Id of a rule: only pages where it reads; 0: all")
    missed: bool = Field(False, description="true: only pages on which their rule found nothing; false (default): all")
    parser_version: str = Field(
        "", description="Only what this version of the parser's code read; other: any but the present one; empty: all"
    )
    fetched_from: str = Field(
        "", description="Fetched at or after, such as 2026-11-30 or 2026-11-30T08:00 (UTC); empty: any"
    )
    fetched_to: str = Field("", description="Fetched before, likewise; empty: any")
    limit: int = Field(DEFAULT_LIMIT, ge=0, description=f"Most pages (default {DEFAULT_LIMIT}); 0: all that are meant")
    after: int = Field(0, ge=0, description="Go on behind this page, the `reached` of a run that ended early; 0: all")


@dg.op(
    name="reparse_contents_op", description="Publishes references to stored pages, as fast as the parser reads them."
)
def reparse_op(context: dg.OpExecutionContext, config: ReparseConfig, wiring: dg.ResourceParam[Wiring]) -> None:
    from issuetracker_dagster.stages.parser.version import code_version

    is_other = config.parser_version == OTHER
    wanted = PageFilter(
        host=_host(config.host),
        sources=tuple(config.sources),
        since_ms=_moment("fetched_from", config.fetched_from),
        before_ms=_moment("fetched_to", config.fetched_to),
        code_version="" if is_other else config.parser_version,
        other_than=code_version() if is_other else "",
        missed=config.missed,
    )
    options = _options(config, after=config.after, limit=config.limit, dry_run=config.dry_run)
    rule = _rule(wiring, config.rule)
    report = read_again(context, wiring, wanted, options, rule)
    name = "would_read" if config.dry_run else "published"
    context.log.info(f"{name.replace('_', ' ')} {report.published}, looked at {report.looked_at}")
    told = {name: report.published, "looked_at": report.looked_at, "reached": report.reached}
    context.add_output_metadata(told | ({"stopped": report.stopped} if report.stopped else {}))
    Fence(context.instance, context.run_id, lambda: True).raise_if_ended()


@dg.job(
    name=REPARSE_JOB,
    executor_def=dg.in_process_executor,
    description=(
        "Has stored articles read again from parser to enrich, chosen in the launchpad; a dry run unless dry_run is "
        "set to false. Contents are updated in place, nothing is fetched, no link is published."
    ),
)
def reparse_job() -> None:
    reparse_op()


def reparsed_contents(settings: Settings) -> dg.AssetsDefinition:
    """The asset whose partitions are the days for which pages are kept."""
    kept = timedelta(milliseconds=settings.purge.raw_contents_after)
    start = (datetime.now(UTC) - kept).strftime(_DAY)
    with warnings.catch_warnings():
        # A line about Dagster's own beta in the terminal, at each load of the code location, tells nobody anything.
        warnings.simplefilter("ignore", dg.BetaWarning)
        return _by_day(dg.DailyPartitionsDefinition(start_date=start, timezone="UTC", end_offset=1))


def _by_day(days: dg.DailyPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        key=table_key(ASSET),
        deps=[table_key("raw_contents"), table_key("parser_rules")],
        partitions_def=days,
        backfill_policy=dg.BackfillPolicy.single_run(),
        **described(
            "sql",
            "parser",
            "Articles fetched on a day, read again from parser to enrich and updated in place when that day is "
            "materialized, without a fetch; sources and host are chosen in the launchpad.",
            REPARSE_GUIDE,
            "PURGE_RAW_CONTENTS_AFTER",
            table="contents",
        ),
    )
    def materialized(
        context: dg.AssetExecutionContext, config: DayConfig, wiring: dg.ResourceParam[Wiring]
    ) -> dg.MaterializeResult[None]:
        window = context.partition_time_window
        wanted = PageFilter(
            host=_host(config.host),
            sources=tuple(config.sources),
            since_ms=int(window.start.timestamp() * 1000),
            before_ms=int(window.end.timestamp() * 1000),
        )
        report = read_again(context.op_execution_context, wiring, wanted, _options(config))
        if report.stopped:
            Fence(context.instance, context.run.run_id, lambda: True).raise_if_ended()
            # Days that were not read whole must not count as done.
            raise dg.Failure(f"{report.stopped}, behind page {report.reached}", allow_retries=False)
        return dg.MaterializeResult(metadata={"published": report.published, "looked_at": report.looked_at})

    return materialized


def read_again(
    context: dg.OpExecutionContext,
    wiring: Wiring,
    wanted: PageFilter,
    options: ReparseOptions,
    rule: ParserRule | None = None,
) -> ReparseReport:
    """Run a reparse inside a run, with its progress in the run's log; ends in order when the run is ended."""
    fence = Fence(context.instance, context.run_id, lambda: True)
    meant = wiring.stores.stored_articles.count(wanted)
    context.log.info(f"{meant} stored articles are meant")
    progress = Progress(context, wiring.machine_clock)

    def told(report: ReparseReport) -> None:
        progress.tell(
            f"{report.looked_at} of {meant} looked at, {report.published} published, up to page {report.reached}"
        )

    with interrupts() as interrupted, watched(wiring, context.run):
        return reparser(wiring).run(
            wanted, options, rule=rule, told=told, control=lambda: interrupted() or fence.reason()
        )


def _options(config: DayConfig, *, after: int = 0, limit: int = 0, dry_run: bool = False) -> ReparseOptions:
    try:
        priority = priority_from_label(config.priority)
    except ValueError as error:
        raise dg.Failure(f"priority: {error}", allow_retries=False) from None
    return ReparseOptions(after=after, limit=limit, target=config.target, priority=priority, dry_run=dry_run)


def _host(host: str) -> str:
    try:
        return check_host(host) if host else ""
    except ValueError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def _moment(name: str, text: str) -> int:
    try:
        return moment_ms(text) if text.strip() else 0
    except ValueError as error:
        raise dg.Failure(f"{name}: {error}", allow_retries=False) from None


def _rule(wiring: Wiring, rule_id: int) -> ParserRule | None:
    rule = wiring.stores.parser_rules.get(rule_id) if rule_id else None
    if rule_id and rule is None:
        raise dg.Failure(f"rule: there is no rule {rule_id}; `issuetracker rules list` shows them", allow_retries=False)
    return rule
