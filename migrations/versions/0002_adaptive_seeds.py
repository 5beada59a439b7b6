"""Seeds whose interval adapts and whose page has an age limit; when rules were last looked at and what was refused."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_NEW = (
    (
        "bounds",
        "(min_interval_ms = 0 AND max_interval_ms = 0)"
        " OR (min_interval_ms >= 1 AND min_interval_ms <= interval_ms AND interval_ms <= max_interval_ms)",
    ),
    ("freshness_ms", "freshness_ms >= 0"),
)
_KEEP_IDS = {"sqlite_autoincrement": True}
"""SQLite copies the table, and this is the one thing that a copy doesn't take over by itself."""
_COLUMNS = ("min_interval_ms", "max_interval_ms", "freshness_ms", "body_sha256", "since_ms", "published_ms")


def upgrade() -> None:
    with op.batch_alter_table("scheduler_entries", table_kwargs=_KEEP_IDS) as table:
        for name in _COLUMNS:
            kind: sa.Text | sa.BigInteger = sa.Text() if name == "body_sha256" else sa.BigInteger()
            default = "" if name == "body_sha256" else "0"
            table.add_column(sa.Column(name, kind, server_default=default, nullable=False))
        for name, condition in _NEW:
            table.create_check_constraint(op.f(f"ck_scheduler_entries_{name}"), condition)
    # A seed that was never fetched is as old as this upgrade: since when it was waiting before isn't known.
    now_ms = int(time.time() * 1000)
    op.execute(sa.text("UPDATE scheduler_entries SET since_ms = :now_ms").bindparams(now_ms=now_ms))
    with op.batch_alter_table("rule_snapshots") as table:
        table.add_column(sa.Column("checked_ms", sa.BigInteger(), server_default="0", nullable=False))
        table.add_column(sa.Column("refused", sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("rule_snapshots") as table:
        table.drop_column("refused")
        table.drop_column("checked_ms")
    with op.batch_alter_table("scheduler_entries", table_kwargs=_KEEP_IDS) as table:
        for name, _ in _NEW:
            table.drop_constraint(op.f(f"ck_scheduler_entries_{name}"), type_="check")
        for name in reversed(_COLUMNS):
            table.drop_column(name)
