"""The index of the DLQ: where each letter lies, by what it is searched, and what became of it.

The table is made anew: nothing ever wrote to the first one, and what it tells is read from Kafka again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SEARCHED = (
    ["at_ms"],
    ["stage", "at_ms"],
    ["reason", "at_ms"],
    ["host", "at_ms"],
    ["state", "letter_id"],
    ["identity"],
    ["raw_id"],
)


def upgrade() -> None:
    op.drop_table("dead_letters")
    op.create_table(
        "dead_letters",
        sa.Column("letter_id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("identity", sa.Text(), nullable=False),
        sa.Column("stage", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("priority", sa.SmallInteger(), nullable=False),
        sa.Column("target_type", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("raw_id", ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value_bytes", sa.BigInteger(), nullable=False),
        sa.Column("source_topic", sa.Text(), nullable=False),
        sa.Column("source_partition", sa.Integer(), nullable=False),
        sa.Column("source_offset", sa.BigInteger(), nullable=False),
        sa.Column("dlq_partition", sa.Integer(), nullable=False),
        sa.Column("dlq_offset", sa.BigInteger(), nullable=False),
        sa.Column("logged_ms", sa.BigInteger(), nullable=False),
        sa.Column("redrive_count", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=32), nullable=False),
        sa.Column("state_ms", sa.BigInteger(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint(
            "stage IN ('fetch', 'parser', 'validate', 'enrich', 'unknown')", name=op.f("ck_dead_letters_stage")
        ),
        sa.CheckConstraint("state IN ('open', 'redriven', 'purged')", name=op.f("ck_dead_letters_state")),
        sa.CheckConstraint("priority BETWEEN 1 AND 3", name=op.f("ck_dead_letters_priority")),
        sa.PrimaryKeyConstraint("letter_id", name=op.f("pk_dead_letters")),
        sa.UniqueConstraint("name", name=op.f("uq_dead_letters_name")),
        sqlite_autoincrement=True,
    )
    for columns in _SEARCHED:
        op.create_index(op.f(f"ix_dead_letters_{'_'.join(columns)}"), "dead_letters", columns)


def downgrade() -> None:
    op.drop_table("dead_letters")
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
