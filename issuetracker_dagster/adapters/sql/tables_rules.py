"""Tables that people edit: rules, the blacklist, seeds; and the snapshots that publishers use."""

from sqlalchemy import JSON, CheckConstraint, Index, UniqueConstraint, true
from sqlalchemy.orm import Mapped, mapped_column

from issuetracker_dagster.adapters.sql.schema import (
    KEEP_IDS,
    EditedJson,
    Id,
    Sha256,
    Small,
    Table,
    UnixMs,
    Word,
    between,
    one_of,
)
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import MAX_PATH_PATTERN, BlacklistMode


class ParserRuleRow(Table):
    """A version of a rule; the priority of what it matches is a column of it (decision 0006)."""

    __tablename__ = "parser_rules"
    __table_args__ = (
        UniqueConstraint("host_pattern", "path_pattern", "target_type", "version"),
        one_of("target_type", TargetType),
        between("crawl_priority", 1, 3),
        CheckConstraint(f"length(path_pattern) <= {MAX_PATH_PATTERN}", name="path_pattern"),
        KEEP_IDS,
    )

    rule_id: Mapped[Id]
    host_pattern: Mapped[str]
    path_pattern: Mapped[str] = mapped_column(server_default="")
    target_type: Mapped[Word]
    version: Mapped[int] = mapped_column(server_default="1")
    enabled: Mapped[bool] = mapped_column(server_default=true())
    selectors: Mapped[dict[str, object]] = mapped_column(EditedJson, server_default="{}")
    options: Mapped[dict[str, str]] = mapped_column(EditedJson, server_default="{}")
    crawl_priority: Mapped[Small] = mapped_column(server_default="2")


class ParserBlacklistRow(Table):
    """Links that are dropped or only read for their links. `entry_hash` names host and path, as long as they may be."""

    __tablename__ = "parser_blacklist"
    __table_args__ = (one_of("mode", BlacklistMode), KEEP_IDS)

    entry_id: Mapped[Id]
    entry_hash: Mapped[Sha256] = mapped_column(unique=True)
    host_pattern: Mapped[str]
    path_pattern: Mapped[str]
    mode: Mapped[Word]
    source: Mapped[str]


class FetcherRuleRow(Table):
    """How politely a host is asked."""

    __tablename__ = "fetcher_rules"
    __table_args__ = (
        CheckConstraint(
            "requests_per_hour >= 0 AND burst >= 1 AND concurrency >= 1 AND timeout_ms >= 1", name="limits"
        ),
    )

    host_pattern: Mapped[str] = mapped_column(primary_key=True)
    requests_per_hour: Mapped[int]
    burst: Mapped[int]
    concurrency: Mapped[int]
    timeout_ms: Mapped[int]
    user_agent: Mapped[str]
    rendering: Mapped[bool]
    source: Mapped[str]


class SchedulerEntryRow(Table):
    """A seed; `priority` is null where the resolver chain decides."""

    __tablename__ = "scheduler_entries"
    __table_args__ = (
        one_of("target_type", TargetType),
        between("priority", 1, 3),
        CheckConstraint("interval_ms >= 1", name="interval_ms"),
        CheckConstraint(
            "(min_interval_ms = 0 AND max_interval_ms = 0)"
            " OR (min_interval_ms >= 1 AND min_interval_ms <= interval_ms AND interval_ms <= max_interval_ms)",
            name="bounds",
        ),
        CheckConstraint("freshness_ms >= 0", name="freshness_ms"),
        Index(None, "enabled", "next_due_ms"),
        KEEP_IDS,
    )

    seed_id: Mapped[Id]
    url_hash: Mapped[Sha256] = mapped_column(unique=True)
    url: Mapped[str]
    source: Mapped[str]
    target_type: Mapped[Word]
    crawler: Mapped[str]
    interval_ms: Mapped[UnixMs]
    timeout_ms: Mapped[int]
    priority: Mapped[Small | None]
    enabled: Mapped[bool]
    next_due_ms: Mapped[UnixMs]
    min_interval_ms: Mapped[UnixMs] = mapped_column(server_default="0")
    max_interval_ms: Mapped[UnixMs] = mapped_column(server_default="0")
    freshness_ms: Mapped[UnixMs] = mapped_column(server_default="0")
    body_sha256: Mapped[str] = mapped_column(server_default="")
    since_ms: Mapped[UnixMs] = mapped_column(server_default="0")
    published_ms: Mapped[UnixMs] = mapped_column(server_default="0")


class RuleSnapshotRow(Table):
    """All priority rules as they were at one time."""

    __tablename__ = "rule_snapshots"

    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    fingerprint: Mapped[str]
    rules: Mapped[list[dict[str, object]]] = mapped_column(JSON)
    created_ms: Mapped[UnixMs]
    checked_ms: Mapped[UnixMs] = mapped_column(server_default="0")
    refused: Mapped[list[str]] = mapped_column(JSON, server_default="[]")
