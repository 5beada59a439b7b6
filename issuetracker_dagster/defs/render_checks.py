"""The check `rendering`: hosts whose rule says that a browser renders their pages, and what it takes."""

from collections.abc import Sequence

import dagster as dg

from issuetracker_dagster.defs.assets import table_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.limits import Level
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.rendering import missing_for_rendering

PAGES, RENDERING = table_key("raw_contents"), "rendering"
NAMED = 5


def judge_rendering(hosts: Sequence[str], missing: str) -> dg.AssetCheckResult:
    """Whether hosts whose rule says so can be rendered where this is asked; without a browser they're only fetched."""
    named = ", ".join(hosts[:NAMED]) + (f" and {len(hosts) - NAMED} more" if len(hosts) > NAMED else "")
    lacks = bool(hosts and missing)
    if not hosts:
        said = "no fetcher rule asks for rendering"
    elif lacks:
        said = f"{named}: rules ask for rendering, and their pages are only fetched, since {missing}"
    else:
        said = f"pages of {named} are rendered"
    figures = {"hosts": len(hosts), "can_render": not missing}
    return result(PAGES, RENDERING, Level.WARN if lacks else Level.WELL, said, figures)


def rendering_state(wiring: Wiring) -> dg.AssetCheckResult:
    """The judgement of the moment; raises `Unavailable`."""
    return judge_rendering(wiring.stores.reports.rendered_hosts(), missing_for_rendering(wiring.settings))


@dg.asset_check(asset=PAGES, name=RENDERING, description=judge_rendering.__doc__)
def rendering_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return rendering_state(wiring)


def look_at_rendering(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about rendering."""
    judged = rendering_state(wiring)
    return [as_evaluation(judged)], f"rendering: {judged.description}"
