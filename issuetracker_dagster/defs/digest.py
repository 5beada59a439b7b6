"""Asset `issue_digest` with its schedule: the top issues of the last day, in the UI and as a page on disk."""

import dagster as dg
from pydantic import Field

from issuetracker_dagster.defs.asset_facts import DIGEST_GUIDE, described
from issuetracker_dagster.defs.assets import table_key
from issuetracker_dagster.defs.watched import watched
from issuetracker_dagster.flow.digest import HOURS, TOP, gather, markdown
from issuetracker_dagster.flow.digest_page import page
from issuetracker_dagster.wiring.digest import FOLDER, LATEST, keep_page
from issuetracker_dagster.wiring.parts import Wiring

NAME = "issue_digest"
CRON = "5 * * * *"


class DigestConfig(dg.Config):
    """What the launchpad asks for."""

    hours: int = Field(
        HOURS, ge=1, le=24 * 31, description=f"How far back the digest looks, 1 to 744 hours (default {HOURS})"
    )
    top: int = Field(TOP, ge=1, le=200, description=f"Most issues, 1 to 200 (default {TOP})")


@dg.asset(
    key=dg.AssetKey([FOLDER, NAME]),
    deps=[table_key("issues"), table_key("enriched_contents")],
    **described(
        "html",
        FOLDER,
        "The issues that move fastest, with sources, velocity, trust and a timeline: as Markdown in the metadata, and "
        "as a page under ISSUETRACKER_HOME/reports, one a day and the latest.",
        DIGEST_GUIDE,
        "ISSUETRACKER_HOME",
    ),
)
def issue_digest(
    context: dg.AssetExecutionContext, config: DigestConfig, wiring: dg.ResourceParam[Wiring]
) -> dg.MaterializeResult[None]:
    with watched(wiring, context.run):
        digest = gather(wiring.stores.digests, wiring.machine_clock, config.hours, config.top)
    path = keep_page(wiring.settings.home, page(digest), digest.until_ms)
    return dg.MaterializeResult(
        metadata={
            "digest": dg.MetadataValue.md(markdown(digest)),
            "page": dg.MetadataValue.path(str(path.resolve())),
            "latest": dg.MetadataValue.path(str((path.parent / LATEST).resolve())),
            "issues": len(digest.issues),
            "contents": sum(len(issue.contents) for issue in digest.issues),
            "highest_velocity": max((issue.issue.velocity for issue in digest.issues), default=0.0),
        }
    )


digest_job = dg.define_asset_job(
    NAME,
    selection=[issue_digest],
    executor_def=dg.in_process_executor,
    description="Renders the digest of issues; `hours` and `top` are chosen in the launchpad.",
)

digest_schedule = dg.ScheduleDefinition(
    name=NAME,
    cron_schedule=CRON,
    job_name=NAME,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Renders the digest of the last day every hour.",
)
