"""The fourth level: an audit may declare the public domain of the columns."""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column to audits, empty in those that there are."""
    op.execute("ALTER TABLE audit ADD COLUMN domain TEXT DEFAULT '' NOT NULL")
