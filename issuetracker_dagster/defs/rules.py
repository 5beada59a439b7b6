"""Schedule and job `refresh_priority_rules`, and the check `rules_fresh`: rules that people edit, on their way to the
publishers.

The schedule looks every minute and asks for a run only when the rules are other ones, so an unchanged set costs no run.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from issuetracker_dagster.defs.assets import table_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.defs.ticks import guarded
from issuetracker_dagster.defs.watched import watched
from issuetracker_dagster.flow.refresh import RefreshReport, refusals
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.limits import Level
from issuetracker_dagster.ports.rules import RuleSnapshot
from issuetracker_dagster.wiring.parts import Wiring

JOB = "refresh_priority_rules"
CHECK = "rules_fresh"
RULES = table_key("parser_rules")
STALE_INTERVALS, STALE_SLACK_MS = 3, 120_000
SHOWN_REFUSALS = 100


@dg.op(name="refresh")
def refresh_op(context: dg.OpExecutionContext, wiring: dg.ResourceParam[Wiring]) -> None:
    """Save the rules of the database as a new snapshot, if they are other ones."""
    with watched(wiring, context.run):
        report = wiring.rules_refresher.refresh()
    context.log.info(told(report))
    if report.refused:
        context.log.warning(f"refused: {'; '.join(report.refused[:SHOWN_REFUSALS])}")
    context.add_output_metadata(refresh_metadata(report))


@dg.job(
    name=JOB,
    executor_def=dg.in_process_executor,
    description=(
        "Reads the priority rules of parser_rules and saves them as a new snapshot when they changed; publishers use "
        "it within seconds. Rows that are no rules are refused one by one. Run by hand it refreshes at once."
    ),
)
def refresh_job() -> None:
    refresh_op()


@dg.schedule(
    name=JOB,
    cron_schedule="* * * * *",
    job_name=JOB,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description=(
        "Looks at the priority rules every PRIORITY_RULES_REFRESH_INTERVAL and runs the job when they changed. "
        "Its ticks say which version is in force."
    ),
)
@guarded
def refresh_schedule(
    context: dg.ScheduleEvaluationContext,  # noqa: ARG001
    wiring: dg.ResourceParam[Wiring],
) -> dg.RunRequest | dg.SkipReason:
    waits = wiring.rules_refresher.wait(wiring.settings.publish.priority_rules_refresh_interval)
    return dg.SkipReason(waits) if waits else dg.RunRequest()


def told(report: RefreshReport) -> str:
    """A refresh in one sentence."""
    bands = ", ".join(f"{count} {priority.label}" for priority, count in report.by_band.items())
    moved = f"{report.added} added, {report.removed} removed, {report.changed} changed"
    state = "new" if report.is_new else "as before"
    said = f"version {report.version} ({state}): {report.rules} rules ({bands}); {moved}"
    return f"{said}; more than PRIORITY_RULES_LOAD_LIMIT" if report.truncated else said


def refresh_metadata(report: RefreshReport) -> dict[str, dg.MetadataValue]:
    """What a run shows of its refresh."""
    counts: dict[str, int] = {
        "version": report.version,
        "rules": report.rules,
        **{priority.label: count for priority, count in report.by_band.items()},
        "added": report.added,
        "removed": report.removed,
        "changed": report.changed,
    }
    return {
        **{name: dg.MetadataValue.int(count) for name, count in counts.items()},
        "truncated": dg.MetadataValue.bool(report.truncated),
        "refused": dg.MetadataValue.md(refusal_table(report.refused)),
    }


def refusal_table(refused: Sequence[str]) -> str:
    """The refused rows as a Markdown table."""
    if not refused:
        return "none"
    rows = (reason.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for reason in refused[:SHOWN_REFUSALS])
    lines = ["| rule | refused because |", "|---|---|"]
    lines += [f"| {name.removeprefix('rule ')} | {why} |" for name, _, why in (row.partition(": ") for row in rows)]
    if len(refused) > SHOWN_REFUSALS:
        lines.append(f"| … | {len(refused) - SHOWN_REFUSALS} more |")
    return "\n".join(lines)


def judge_rules(latest: RuleSnapshot | None, now_ms: int, interval_ms: int) -> dg.AssetCheckResult:
    """Whether publishers go by the rules of the database: red when nobody looked at them lately, yellow when rows of
    the table are no rules."""
    limit_ms = STALE_INTERVALS * interval_ms + STALE_SLACK_MS
    if latest is None:
        said = f"priority rules were never read: the schedule {JOB} is off or skips, see its ticks"
        return result(RULES, CHECK, Level.ERROR, said, {"version": 0, "rules": 0, "refused": 0})
    age_ms = max(0, now_ms - latest.checked_ms)
    level = Level.ERROR if age_ms > limit_ms else Level.WARN if latest.refused else Level.WELL
    said = f"version {latest.version}, {len(latest.rules)} rules{refusals(latest)}"
    said += f"; checked at {_utc(latest.checked_ms)}"
    if level is Level.ERROR:
        said += f", more than {about_duration(limit_ms)} ago: the schedule {JOB} is off, skips or its runs fail"
    figures = {"version": latest.version, "rules": len(latest.rules), "refused": len(latest.refused)}
    return result(RULES, CHECK, level, said, {**figures, "checked_age_s": age_ms // 1000})


def _utc(at_ms: int) -> str:
    """The moment; an age would be wrong as soon as it is read, since the event of a check stays."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%H:%M:%S UTC on %Y-%m-%d")


def rules_state(wiring: Wiring) -> dg.AssetCheckResult:
    """The judgement of the moment; raises `Unavailable`."""
    latest = wiring.stores.rule_snapshots.latest()
    return judge_rules(latest, wiring.clock.now_ms(), wiring.settings.publish.priority_rules_refresh_interval)


@dg.asset_check(asset=RULES, name=CHECK, description=judge_rules.__doc__)
def rules_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return rules_state(wiring)


def look_at_rules(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about rules."""
    result = rules_state(wiring)
    return [as_evaluation(result)], f"rules: {result.description}"
