"""What each content was parsed from and by, and who asked for a page: so that pages can be read again by it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("raw_contents", sa.Column("source", sa.Text(), server_default="", nullable=False))
    op.add_column("content_meta", sa.Column("raw_sha256", sa.Text(), server_default="", nullable=False))
    op.add_column("content_meta", sa.Column("rule_id", ID, server_default="0", nullable=False))
    op.add_column("content_meta", sa.Column("rule_version", sa.Integer(), server_default="0", nullable=False))
    op.add_column("content_meta", sa.Column("code_version", sa.Text(), server_default="", nullable=False))
    op.create_index(op.f("ix_contents_raw_id"), "contents", ["raw_id"])


def downgrade() -> None:
    op.drop_index(op.f("ix_contents_raw_id"), "contents")
    for name in ("code_version", "rule_version", "rule_id", "raw_sha256"):
        op.drop_column("content_meta", name)
    op.drop_column("raw_contents", "source")
