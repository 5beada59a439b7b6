"""The report of a soak for people, and what decides whether it held."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping

from tests.soak.dagster_watch import DOUBLE_AT_MOST_S, SILENT_AT_MOST_S
from tests.soak.result import Result
from tests.soak.thrower import NO_TARGET
from tests.soak.vitals import RULE, Life

NAMED = 20


def failures(result: Result) -> list[str]:
    """Every promise that didn't hold; empty when the soak held."""
    judgement = result.judgement
    found = []
    if judgement.lost:
        found.append(f"{len(judgement.lost)} {_lost(result)}")
    if judgement.otherwise:
        found.append(f"{len(judgement.otherwise)} ended otherwise than they had to")
    if judgement.two_contents:
        found.append(f"{len(judgement.two_contents)} roots became more than one content")
    if judgement.doubled:
        found.append(f"{len(judgement.doubled)} contents are in SQL more than once")
    if result.left:
        found.append(f"not empty after {result.drained_s:.0f} s: {_counted(result.left)}")
    if result.stuck_runs:
        found.append(f"stuck runs: {', '.join(result.stuck_runs)}")
    found += [
        f"two runs on {place} for {lasted:.0f} s (at most {DOUBLE_AT_MOST_S:.0f})"
        for place, lasted in result.doubles.items()
        if lasted > DOUBLE_AT_MOST_S
    ]
    found += [
        f"{run} showed no sign of life for {lasted:.0f} s and stayed STARTED (at most {SILENT_AT_MOST_S:.0f})"
        for run, lasted in result.silent.items()
        if lasted > SILENT_AT_MOST_S
    ]
    found += [f"{life.role} {life.pid} isn't flat" for life in result.lives if not life.is_flat]
    wrong = [error for *_, error in result.thrown if error and not error.startswith(NO_TARGET)]
    if wrong:
        found.append(f"{len(wrong)} faults didn't go as they had to: {'; '.join(wrong)}")
    if result.bugs:
        found.append(f"{len(result.bugs)} bugs named in the log")
    if result.broken:
        found.append(f"parts of the soak itself broke: {'; '.join(result.broken)}")
    if not result.published or not result.looks:
        found.append(f"nothing is proved by {result.published} jobs and {result.looks} looks at the runs")
    return found


def report(result: Result) -> Iterator[str]:
    """All of it, line by line."""
    yield f"# Soak of {result.minutes:.1f} minutes"
    yield ""
    yield from _ledger(result)
    yield ""
    yield from _faults(result)
    yield ""
    yield from _vitals(result)
    yield ""
    yield from _dagster(result)
    yield ""
    broken = failures(result)
    yield "HELD: nothing lost, nothing stuck, all flat" if not broken else "BROKEN: " + "; ".join(broken)


def _ledger(result: Result) -> Iterator[str]:
    judgement = result.judgement
    yield "## Ledger"
    yield f"published by the soak {result.published} (refused and tried again: {_counted(result.refused)})"
    yield f"roots by their end: {_counted(judgement.ends)}"
    yield f"records: {_counted(judgement.records)}"
    yield f"repeats: {_counted(judgement.repeats)}"
    yield f"dead letters by reason: {_counted(judgement.reasons)}"
    yield f"drained in {result.drained_s:.0f} s; left: {_counted(result.left)}"
    for title, amiss in ((_lost(result), judgement.lost), ("ended otherwise", judgement.otherwise)):
        yield f"{title}: {len(amiss)}"
        yield from (f"  {one}" for one in amiss[:NAMED])
    for root_id in judgement.two_contents[:NAMED]:
        yield f"  more than one content: {root_id}"


def _lost(result: Result) -> str:
    return "lost, or on their way still" if result.left else "lost"


def _faults(result: Result) -> Iterator[str]:
    by_kind: dict[str, list[tuple[str, str, float | None, str]]] = defaultdict(list)
    for kind, *rest in result.thrown:
        by_kind[kind].append(tuple(rest))  # type: ignore[arg-type]
    hit = sum(1 for *_, error in result.thrown if not error)
    yield f"## Faults: {result.planned} planned, {hit} hit"
    yield f"{'kind':24} {'hit':>4} {'missed':>6} {'first new content after its end, s (median, most)':>8}"
    for kind, thrown in sorted(by_kind.items()):
        waits = [wait for _, _, wait, error in thrown if wait is not None and not error]
        told = f"{statistics.median(waits):.1f}, {max(waits):.1f}" if waits else "-"
        missed = sum(1 for *_, error in thrown if error)
        yield f"{kind:24} {len(thrown) - missed:4} {missed:6}   {told}"
    for what, _, _, error in (one for thrown in by_kind.values() for one in thrown):
        if error:
            yield f"  missed {what.strip()}: {error}"


def _vitals(result: Result) -> Iterator[str]:
    yield f"## Memory and handles: {RULE}"
    by_role: dict[str, list[Life]] = defaultdict(list)
    for life in result.lives:
        by_role[life.role].append(life)
    yield "role               lives judged longest s  most MB growth MB  handles  growth"
    for role, lives in sorted(by_role.items()):
        judged = [life for life in lives if life.judged]
        yield (
            f"{role:18} {len(lives):5} {len(judged):6} {max(life.lived_s for life in lives):9.0f} "
            f"{max(life.most_memory_mb for life in lives):8.0f} "
            f"{max((life.growth_mb for life in judged), default=0.0):9.1f} "
            f"{max(life.most_handles for life in lives):8} "
            f"{max((life.growth_handles for life in judged), default=0.0):7.1f}"
            f"{'' if all(life.is_flat for life in lives) else '  NOT FLAT'}"
        )


def _dagster(result: Result) -> Iterator[str]:
    yield "## Dagster"
    yield f"runs by their end: {_counted(result.dagster.ended)}"
    yield f"the demo had to be started again {result.restarts} times"
    yield f"longest double shift: {max(result.doubles.values(), default=0.0):.0f} s"
    yield f"longest silence of a started run: {max(result.silent.values(), default=0.0):.0f} s"
    yield f"runs stuck in the end: {', '.join(result.stuck_runs) or 'none'}"
    yield f"failed ticks: {sum(result.dagster.failed_ticks.values())}"
    for what, count in sorted(result.dagster.failed_ticks.items(), key=lambda each: -each[1])[:NAMED]:
        yield f"  {count} x {what}"
    yield f"bugs named in the log: {len(result.bugs)}"
    yield from (f"  {line}" for line in result.bugs[:NAMED])


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()) if count) or "none"
