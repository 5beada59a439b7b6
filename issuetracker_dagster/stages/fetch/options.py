"""The limits of fetching, with the defaults of the settings."""

from typing import Literal

import msgspec

from issuetracker_dagster.model.rules import FetcherRule

USER_AGENT = "IssueTracker/0.1"


class FetchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in milliseconds, sizes in bytes.

    `timeout_ms` is the most that one job may take for its page, redirects included; `max_bytes` counts decoded bytes.
    `robots` `ignore` is for sites of one's own. `default_rule` holds for hosts without a fetcher rule.
    """

    user_agent: str = USER_AGENT
    timeout_ms: int = 30_000
    max_bytes: int = 10 * 1024 * 1024
    max_redirects: int = 5
    robots: Literal["obey", "ignore"] = "obey"
    robots_ttl_ms: int = 24 * 3_600_000
    robots_error_ttl_ms: int = 300_000
    robots_timeout_ms: int = 10_000
    robots_max_bytes: int = 500 * 1024
    robots_hosts: int = 2_000
    crawl_delay_cap_ms: int = 30_000
    retry_after_cap_ms: int = 3_600_000
    rule_ttl_ms: int = 30_000
    default_rule: FetcherRule = FetcherRule(host_pattern="*")
