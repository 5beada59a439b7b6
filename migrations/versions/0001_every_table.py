"""Every table of the first version.

Frozen: what the schema becomes later is told by later migrations, never by changing this one.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TABLES = (
    "raw_contents",
    "raw_content_history",
    "contents",
    "content_bodies",
    "content_bands",
    "content_meta",
    "parser_rules",
    "parser_blacklist",
    "fetcher_rules",
    "scheduler_entries",
    "rule_snapshots",
    "issues",
    "issue_contents",
    "enriched_contents",
    "dead_letters",
    "message_trace",
    "published_recent",
)
"""In the order in which they can be made."""


def upgrade() -> None:
    _create_contents()
    _create_rules()
    _create_issues()
    _create_traces()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _create_contents() -> None:
    op.create_table(
        "raw_contents",
        sa.Column("raw_id", ID, nullable=False),
        sa.Column("url_hash", sa.String(length=64), nullable=False),
        sa.Column("requested_url", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("last_modified", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("body_sha256", sa.Text(), nullable=False),
        sa.Column("fetched_ms", sa.BigInteger(), nullable=False),
        sa.Column("target_type", sa.String(length=32), nullable=False),
        sa.Column("stored_by", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "target_type IN ('article', 'category', 'feed', 'sitemap')", name=op.f("ck_raw_contents_target_type")
        ),
        sa.PrimaryKeyConstraint("raw_id", name=op.f("pk_raw_contents")),
        sa.UniqueConstraint("url_hash", name=op.f("uq_raw_contents_url_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_raw_contents_fetched_ms"), "raw_contents", ["fetched_ms"])
    op.create_table(
        "raw_content_history",
        sa.Column("raw_id", ID, nullable=False),
        sa.Column("fetched_ms", sa.BigInteger(), nullable=False),
        sa.Column("body_sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["raw_id"],
            ["raw_contents.raw_id"],
            name=op.f("fk_raw_content_history_raw_id_raw_contents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("raw_id", "fetched_ms", "body_sha256", name=op.f("pk_raw_content_history")),
    )
    op.create_table(
        "contents",
        sa.Column("content_id", ID, nullable=False),
        sa.Column("url_hash", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("canonical_url", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("published_ms", sa.BigInteger(), nullable=False),
        sa.Column("fetched_ms", sa.BigInteger(), nullable=False),
        sa.Column("raw_id", ID, nullable=False),
        sa.Column("root_id", sa.Text(), nullable=False),
        sa.Column("date_required", sa.Boolean(), nullable=False),
        sa.Column("status", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.CheckConstraint("kind IN ('news', 'community')", name=op.f("ck_contents_kind")),
        sa.CheckConstraint(
            "status IN ('parsed', 'validated', 'rejected', 'enriched')", name=op.f("ck_contents_status")
        ),
        sa.PrimaryKeyConstraint("content_id", name=op.f("pk_contents")),
        sa.UniqueConstraint("url_hash", name=op.f("uq_contents_url_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_contents_host"), "contents", ["host"])
    op.create_index(op.f("ix_contents_published_ms"), "contents", ["published_ms"])
    op.create_index(op.f("ix_contents_status"), "contents", ["status"])
    op.create_table(
        "content_bodies",
        sa.Column("content_id", ID, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.Text(), nullable=False),
        sa.Column("signature", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["content_id"],
            ["contents.content_id"],
            name=op.f("fk_content_bodies_content_id_contents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("content_id", name=op.f("pk_content_bodies")),
    )
    op.create_index(
        op.f("ix_content_bodies_text_hash_content_id"),
        "content_bodies",
        ["text_hash", "content_id"],
        postgresql_where=sa.text("text_hash <> ''"),
        sqlite_where=sa.text("text_hash <> ''"),
    )
    op.create_table(
        "content_bands",
        sa.Column("band", sa.Text(), nullable=False),
        sa.Column("content_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["content_id"],
            ["contents.content_id"],
            name=op.f("fk_content_bands_content_id_contents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("band", "content_id", name=op.f("pk_content_bands")),
    )
    op.create_index(op.f("ix_content_bands_content_id"), "content_bands", ["content_id"])
    op.create_table(
        "content_meta",
        sa.Column("content_id", ID, nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("images", sa.JSON(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("field_sources", sa.JSON(), nullable=False),
        sa.Column("replacement_share", sa.Float(), nullable=False),
        sa.Column("accepted", sa.Boolean(), nullable=True),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("quality", sa.Float(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.Column("duplicate_of", ID, nullable=False),
        sa.Column("near_duplicate_of", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["content_id"],
            ["contents.content_id"],
            name=op.f("fk_content_meta_content_id_contents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("content_id", name=op.f("pk_content_meta")),
    )


def _create_rules() -> None:
    op.create_table(
        "parser_rules",
        sa.Column("rule_id", ID, nullable=False),
        sa.Column("host_pattern", sa.Text(), nullable=False),
        sa.Column("path_pattern", sa.Text(), server_default="", nullable=False),
        sa.Column("target_type", sa.String(length=32), nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("selectors", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("options", sa.JSON(), server_default="{}", nullable=False),
        sa.Column("crawl_priority", sa.SmallInteger(), server_default="2", nullable=False),
        sa.CheckConstraint(
            "target_type IN ('article', 'category', 'feed', 'sitemap')", name=op.f("ck_parser_rules_target_type")
        ),
        sa.CheckConstraint("crawl_priority BETWEEN 1 AND 3", name=op.f("ck_parser_rules_crawl_priority")),
        sa.CheckConstraint("length(path_pattern) <= 500", name=op.f("ck_parser_rules_path_pattern")),
        sa.PrimaryKeyConstraint("rule_id", name=op.f("pk_parser_rules")),
        sa.UniqueConstraint(
            "host_pattern",
            "path_pattern",
            "target_type",
            "version",
            name=op.f("uq_parser_rules_host_pattern_path_pattern_target_type_version"),
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "parser_blacklist",
        sa.Column("entry_id", ID, nullable=False),
        sa.Column("entry_hash", sa.String(length=64), nullable=False),
        sa.Column("host_pattern", sa.Text(), nullable=False),
        sa.Column("path_pattern", sa.Text(), nullable=False),
        sa.Column("mode", sa.String(length=32), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.CheckConstraint("mode IN ('drop', 'extract_links_only')", name=op.f("ck_parser_blacklist_mode")),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_parser_blacklist")),
        sa.UniqueConstraint("entry_hash", name=op.f("uq_parser_blacklist_entry_hash")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "fetcher_rules",
        sa.Column("host_pattern", sa.Text(), nullable=False),
        sa.Column("requests_per_hour", sa.Integer(), nullable=False),
        sa.Column("burst", sa.Integer(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("timeout_ms", sa.Integer(), nullable=False),
        sa.Column("user_agent", sa.Text(), nullable=False),
        sa.Column("rendering", sa.Boolean(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "requests_per_hour >= 0 AND burst >= 1 AND concurrency >= 1 AND timeout_ms >= 1",
            name=op.f("ck_fetcher_rules_limits"),
        ),
        sa.PrimaryKeyConstraint("host_pattern", name=op.f("pk_fetcher_rules")),
    )
    op.create_table(
        "scheduler_entries",
        sa.Column("seed_id", ID, nullable=False),
        sa.Column("url_hash", sa.String(length=64), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("target_type", sa.String(length=32), nullable=False),
        sa.Column("crawler", sa.Text(), nullable=False),
        sa.Column("interval_ms", sa.BigInteger(), nullable=False),
        sa.Column("timeout_ms", sa.Integer(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("next_due_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "target_type IN ('article', 'category', 'feed', 'sitemap')", name=op.f("ck_scheduler_entries_target_type")
        ),
        sa.CheckConstraint("interval_ms >= 1", name=op.f("ck_scheduler_entries_interval_ms")),
        sa.CheckConstraint("priority BETWEEN 1 AND 3", name=op.f("ck_scheduler_entries_priority")),
        sa.PrimaryKeyConstraint("seed_id", name=op.f("pk_scheduler_entries")),
        sa.UniqueConstraint("url_hash", name=op.f("uq_scheduler_entries_url_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_scheduler_entries_enabled_next_due_ms"), "scheduler_entries", ["enabled", "next_due_ms"])
    op.create_table(
        "rule_snapshots",
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("rules", sa.JSON(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_rule_snapshots")),
    )


def _create_issues() -> None:
    op.create_table(
        "issues",
        sa.Column("issue_id", ID, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("first_seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("content_count", sa.Integer(), nullable=False),
        sa.Column("source_count", sa.Integer(), nullable=False),
        sa.Column("velocity", sa.Float(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.CheckConstraint("state IN ('emerging', 'active', 'fading', 'closed')", name=op.f("ck_issues_state")),
        sa.PrimaryKeyConstraint("issue_id", name=op.f("pk_issues")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_issues_language_last_seen_ms"), "issues", ["language", "last_seen_ms"])
    op.create_index(op.f("ix_issues_last_seen_ms"), "issues", ["last_seen_ms"])
    op.create_index(op.f("ix_issues_state_last_seen_ms"), "issues", ["state", "last_seen_ms"])
    op.create_table(
        "issue_contents",
        sa.Column("content_id", ID, nullable=False),
        sa.Column("issue_id", ID, nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("published_ms", sa.BigInteger(), nullable=False),
        sa.Column("seen_ms", sa.BigInteger(), nullable=False),
        sa.Column("keywords", sa.JSON(), nullable=False),
        sa.Column("entities", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["content_id"],
            ["contents.content_id"],
            name=op.f("fk_issue_contents_content_id_contents"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["issue_id"], ["issues.issue_id"], name=op.f("fk_issue_contents_issue_id_issues")),
        sa.PrimaryKeyConstraint("content_id", name=op.f("pk_issue_contents")),
    )
    op.create_index(op.f("ix_issue_contents_issue_id_seen_ms"), "issue_contents", ["issue_id", "seen_ms"])
    op.create_table(
        "enriched_contents",
        sa.Column("content_id", ID, nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("keywords", sa.JSON(), nullable=False),
        sa.Column("entities", sa.JSON(), nullable=False),
        sa.Column("claims", sa.JSON(), nullable=False),
        sa.Column("issue_id", ID, nullable=False),
        sa.Column("trust", sa.Float(), nullable=False),
        sa.Column("factors", sa.JSON(), nullable=False),
        sa.Column("rationale", sa.Text(), nullable=False),
        sa.Column("failed_steps", sa.JSON(), nullable=False),
        sa.Column("enriched_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("trust BETWEEN 0 AND 1", name=op.f("ck_enriched_contents_trust")),
        sa.ForeignKeyConstraint(
            ["content_id"],
            ["contents.content_id"],
            name=op.f("fk_enriched_contents_content_id_contents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("content_id", name=op.f("pk_enriched_contents")),
    )
    op.create_index(op.f("ix_enriched_contents_issue_id"), "enriched_contents", ["issue_id"])


def _create_traces() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("letter_id", ID, nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("raw_id", ID, nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("stage IN ('fetch', 'parser', 'validate', 'enrich')", name=op.f("ck_dead_letters_stage")),
        sa.CheckConstraint("priority BETWEEN 1 AND 3", name=op.f("ck_dead_letters_priority")),
        sa.PrimaryKeyConstraint("letter_id", name=op.f("pk_dead_letters")),
        sa.UniqueConstraint("identity", "stage", name=op.f("uq_dead_letters_identity_stage")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_dead_letters_at_ms"), "dead_letters", ["at_ms"])
    op.create_index(op.f("ix_dead_letters_raw_id"), "dead_letters", ["raw_id"])
    op.create_table(
        "message_trace",
        sa.Column("trace_row_id", ID, nullable=False),
        sa.Column("root_id", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("trace_row_id", name=op.f("pk_message_trace")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_message_trace_root_id_trace_row_id"), "message_trace", ["root_id", "trace_row_id"])
    op.create_index(op.f("ix_message_trace_trace_id"), "message_trace", ["trace_id"])
    op.create_table(
        "published_recent",
        sa.Column("published_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("target_type", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("decided_by", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("priority BETWEEN 1 AND 3", name=op.f("ck_published_recent_priority")),
        sa.PrimaryKeyConstraint("published_id", name=op.f("pk_published_recent")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_published_recent_host"), "published_recent", ["host"])
