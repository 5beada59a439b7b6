"""The check `freshness` on the seeds: whether every source with a target was fetched lately."""

import dagster as dg

from issuetracker_dagster.defs.assets import table_key
from issuetracker_dagster.defs.results import as_evaluation
from issuetracker_dagster.flow.freshness import Freshness, freshness
from issuetracker_dagster.wiring.parts import Wiring

SEEDS = table_key("scheduler_entries")
CHECK = "freshness"
NAMED = 10
"""Most sources named; the list of all is a command away."""


def judge_freshness(state: Freshness) -> dg.AssetCheckResult:
    """Whether the page of every seed with a freshness target was fetched within it."""
    late = state.breaches
    if late:
        more = f" ... and {len(late) - NAMED} more sources." if len(late) > NAMED else ""
        said = (
            f"{len(late)} sources are behind their freshness target. {'; '.join(map(str, late[:NAMED]))}.{more} "
            "They are asked for at high priority; if that doesn't help, look at `issuetracker seeds list --stale`, the "
            "ticks of seed_scheduler, the logs of fetch shifts and the dead letters of those hosts"
        )
    elif not state.watched:
        said = "no seed has a freshness target"
    else:
        said = f"all {state.watched} pages with a freshness target were fetched within it"
    return dg.AssetCheckResult(
        passed=not late,
        severity=dg.AssetCheckSeverity.ERROR,
        asset_key=SEEDS,
        check_name=CHECK,
        description=said,
        metadata={"watched": state.watched, "stale": state.stale, "sources_in_breach": len(late)},
    )


def freshness_state(wiring: Wiring) -> dg.AssetCheckResult:
    """The judgement of the moment; raises `Unavailable`."""
    stores = wiring.stores
    return judge_freshness(freshness(stores.seeds, stores.raw_contents, wiring.name_of, wiring.clock.now_ms()))


@dg.asset_check(asset=SEEDS, name=CHECK, description=judge_freshness.__doc__)
def freshness_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return freshness_state(wiring)


def look_at_sources(wiring: Wiring) -> tuple[list[dg.AssetObservation | dg.AssetCheckEvaluation], str]:
    """What the health probe tells about sources."""
    result = freshness_state(wiring)
    stale = result.metadata["stale"].value
    words = "1 page of a source is stale" if stale == 1 else f"{stale} pages of sources are stale"
    return [as_evaluation(result)], words
