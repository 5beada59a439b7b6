"""What is written with every step of every message has no index: a look reads all there is, up to the cap."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index(op.f("ix_message_trace_root_id_trace_row_id"), "message_trace")
    op.drop_index(op.f("ix_message_trace_trace_id"), "message_trace")
    op.drop_index(op.f("ix_published_recent_host"), "published_recent")


def downgrade() -> None:
    op.create_index(op.f("ix_message_trace_root_id_trace_row_id"), "message_trace", ["root_id", "trace_row_id"])
    op.create_index(op.f("ix_message_trace_trace_id"), "message_trace", ["trace_id"])
    op.create_index(op.f("ix_published_recent_host"), "published_recent", ["host"])
