"""Indexes by which organisations take turns at jobs, and by which lists of many audits are found."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

INDEXES = (
    ("job", ("organisation_id", "state", "id")),
    ("job", ("organisation_id", "started_at")),
    ("audit", ("organisation_id", "id")),
    ("audit", ("organisation_id", "state", "model_version_id", "id")),
    ("audit", ("model_version_id", "id")),
)


def upgrade() -> None:
    """Make the indexes."""
    for table, columns in INDEXES:
        op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, list(columns))
