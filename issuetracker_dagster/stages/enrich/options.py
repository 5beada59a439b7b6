"""The limits of enrich."""

import msgspec

HOUR_MS = 3_600_000


class EnrichOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times are milliseconds.

    A content belongs to an issue when its closeness to the better half of the members is `join_min` on average.
    Closeness halves with every `decay_half_life_ms` between two contents. At most `candidates_max` members of open
    issues are compared.

    An issue is *closed* when nothing joined it for `close_after_ms`. Else it is *emerging* while its first content is
    younger than `emerging_for_ms` and fewer than `emerging_sources_max` sources carry it; else *active* while its
    velocity is at least `active_velocity_min` contents an hour; else *fading*. The velocity weighs each content by
    exp(-age / `velocity_span_ms`).
    """

    keywords_max: int = 10
    entities_max: int = 20
    claims_max: int = 20
    join_min: float = 0.37
    decay_half_life_ms: int = 72 * HOUR_MS
    candidates_max: int = 2_000
    vectors_kept: int = 10_000
    close_after_ms: int = 72 * HOUR_MS
    emerging_for_ms: int = 6 * HOUR_MS
    emerging_sources_max: int = 3
    active_velocity_min: float = 0.1
    velocity_span_ms: int = 6 * HOUR_MS
    aging_every_ms: int = 60_000
    evidence_max: int = 60
