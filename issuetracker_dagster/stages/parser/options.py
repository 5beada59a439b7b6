"""Every limit of the parser stage with its default."""

import msgspec

_DAY_MS = 86_400_000


class ParserOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Limits. Seconds, milliseconds, bytes and characters as the names say.

    `cpu_budget_s` is processor time of one page, `wall_budget_s` the time after which the process counts as stuck.
    `max_links` bounds the jobs of one category page, `max_entries` those of a feed or sitemap. `max_depth` counts links
    from the seed. Entries older than `max_entry_age_ms` are skipped.
    """

    processes: int = 2
    cpu_budget_s: float = 10.0
    wall_budget_s: float = 60.0
    memory_limit_bytes: int = 2 * 1024**3
    pages_per_process: int = 500
    max_links: int = 200
    max_entries: int = 1_000
    max_depth: int = 5
    max_url_length: int = 2_000
    max_entry_age_ms: int = 7 * _DAY_MS
    max_sitemap_bytes: int = 50 * 1024 * 1024
    min_body_length: int = 200
    rules_ttl_ms: int = 5_000
