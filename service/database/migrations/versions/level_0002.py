"""The second level: an audit may have a register of candidates, which is a table like the training table."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column to audits, empty in those that there are."""
    op.execute(
        "ALTER TABLE audit ADD COLUMN register_id VARCHAR(32) "
        "CONSTRAINT fk_audit_register_id REFERENCES data_table (id)"
    )
    op.execute("CREATE INDEX ix_audit_register_id ON audit (register_id)")
