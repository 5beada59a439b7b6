"""The limits of validate. Field names are those of the settings `VALIDATE_*` in lower case."""

import msgspec


class ValidateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Lengths in code points, shares and qualities in [0, 1].

    `reparse_max` bounds the recrawls that a missing date or a short text asks for. A date up to `date_tolerance_ms`
    after the fetch is taken for a clock that runs ahead, since dates in pages are often rounded up to the minute.
    """

    news_title_min: int = 10
    news_title_max: int = 500
    news_body_min: int = 100
    news_body_max: int = 50_000
    news_upper_max: float = 0.20
    news_symbols_max: float = 0.10
    news_quality_min: float = 0.5
    community_body_min: int = 50
    community_flood_max: float = 0.30
    community_quality_min: float = 0.4
    reparse_enabled: bool = False
    reparse_max: int = 2
    near_duplicate_min: float = 0.85
    date_tolerance_ms: int = 120_000
