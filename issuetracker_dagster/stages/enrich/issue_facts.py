"""What is known of an issue from its members, pure: times, sources, velocity, state."""

from collections.abc import Sequence
from math import exp

from issuetracker_dagster.model.records import Issue, IssueState
from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.options import HOUR_MS, EnrichOptions


def happened_ms(member: MemberView) -> int:
    """When a content came out: its date, or when it was seen for want of one. What's seen can't be newer than that."""
    return min(member.published_ms, member.seen_ms) if member.published_ms > 0 else member.seen_ms


def issue_of(issue_id: int, members: Sequence[MemberView], title: str, now_ms: int, options: EnrichOptions) -> Issue:
    """The issue's row. First and last seen are times of enrichment; velocity and age go by when contents came out.

    So an archive that is crawled today doesn't look like breaking news, yet its issues stay open while it is crawled.
    """
    seen = [member.seen_ms for member in members]
    out = [happened_ms(member) for member in members]
    sources = len({member.host for member in members})
    speed = velocity(out, now_ms, options)
    return Issue(
        issue_id=issue_id,
        title=title,
        language=members[0].language,
        first_seen_ms=min(seen),
        last_seen_ms=max(seen),
        content_count=len(members),
        source_count=sources,
        velocity=speed,
        state=state_of(min(out), max(seen), sources, speed, now_ms, options),
    )


def velocity(times_ms: Sequence[int], now_ms: int, options: EnrichOptions) -> float:
    """Contents an hour, those of long ago counting less: the sum of exp(-age / span) / span, span in hours."""
    span_h = options.velocity_span_ms / HOUR_MS
    return sum(exp(-max(0, now_ms - at) / options.velocity_span_ms) for at in times_ms) / span_h


def state_of(
    first_out_ms: int, last_seen_ms: int, sources: int, speed: float, now_ms: int, options: EnrichOptions
) -> IssueState:
    """The state by the thresholds that `EnrichOptions` explains."""
    if now_ms - last_seen_ms > options.close_after_ms:
        return IssueState.CLOSED
    if now_ms - first_out_ms < options.emerging_for_ms and sources < options.emerging_sources_max:
        return IssueState.EMERGING
    return IssueState.ACTIVE if speed >= options.active_velocity_min else IssueState.FADING
