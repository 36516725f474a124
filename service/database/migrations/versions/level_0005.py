"""Indexes by which organisations take turns at jobs."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0001"
branch_labels = None
depends_on = None

INDEXES = (
    ("job", ("organisation_id", "state", "id")),
    ("job", ("organisation_id", "started_at")),
)


def upgrade() -> None:
    """Make the indexes."""
    for table, columns in INDEXES:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns))
