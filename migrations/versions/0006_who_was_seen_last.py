"""The members that were seen last are found without sorting all."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        op.f("ix_issue_contents_language_seen_ms_content_id"), "issue_contents", ["language", "seen_ms", "content_id"]
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_issue_contents_language_seen_ms_content_id"), "issue_contents")
