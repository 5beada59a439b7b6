"""Which contents belong to one event, pure; the same from either side, so that order of arrival doesn't matter."""

from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.entities import name_words
from issuetracker_dagster.stages.enrich.issue_facts import happened_ms
from issuetracker_dagster.stages.enrich.options import EnrichOptions

SHARED_NAMES = 0.25
"""Share of the fewer names that two contents must have in common to be acquainted."""


def decayed(cosine: float, one: MemberView, other: MemberView, options: EnrichOptions) -> float:
    """The cosine, halved with every half-life between the two dates."""
    apart_ms = abs(happened_ms(one) - happened_ms(other))
    return float(cosine * 0.5 ** (apart_ms / options.decay_half_life_ms))


def linked(alike: float, one: MemberView, other: MemberView, options: EnrichOptions) -> bool:
    """Whether two contents tell of one event, given their decayed cosine. Near the threshold the names decide."""
    if alike < options.link_shared_min:
        return False
    mine, theirs = name_words(one.entities), name_words(other.entities)
    shared = len(mine & theirs)
    if len(mine) >= 2 and len(theirs) >= 2 and not shared:
        return alike >= options.link_strangers_min
    acquainted = shared >= 2 and shared >= SHARED_NAMES * min(len(mine), len(theirs))
    return alike >= (options.link_shared_min if acquainted else options.link_min)
