"""The limits of enrich."""

import msgspec

HOUR_MS = 3_600_000


class EnrichOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Similarities are decayed cosines in [0, 1]; times are milliseconds.

    Two contents belong together from `link_min` on; from `link_shared_min` on when they share a quarter of the
    names; only from `link_strangers_min` on when both name things and none in common. Their cosine halves with every
    `decay_half_life_ms` between them. At most `candidates_max` members of open issues are compared.

    An issue is *closed* when nothing joined it for `close_after_ms`. Else it is *emerging* while its first content is
    younger than `emerging_for_ms` and fewer than `emerging_sources_max` sources carry it; else *active* while its
    velocity is at least `active_velocity_min` contents an hour; else *fading*. The velocity weighs each content by
    exp(-age / `velocity_span_ms`).
    """

    keywords_max: int = 10
    entities_max: int = 20
    claims_max: int = 20
    link_min: float = 0.38
    link_shared_min: float = 0.30
    link_strangers_min: float = 0.60
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
