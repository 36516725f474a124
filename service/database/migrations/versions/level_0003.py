"""The third level: an audit may have further files, such as outputs that are published with the model."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Say of each file that there is that it holds records, and add what links the others to audits."""
    op.execute("ALTER TABLE data_table ADD COLUMN holds VARCHAR(40) DEFAULT 'records' NOT NULL")
    op.execute(
        "CREATE TABLE audit_file (audit_id VARCHAR(32) NOT NULL, n INTEGER NOT NULL, "
        "organisation_id VARCHAR(32) NOT NULL, data_table_id VARCHAR(32) NOT NULL, "
        "CONSTRAINT pk_audit_file PRIMARY KEY (audit_id, n), "
        "CONSTRAINT fk_audit_file_audit_id FOREIGN KEY(audit_id) REFERENCES audit (id), "
        "CONSTRAINT fk_audit_file_organisation_id FOREIGN KEY(organisation_id) REFERENCES organisation (id), "
        "CONSTRAINT fk_audit_file_data_table_id FOREIGN KEY(data_table_id) REFERENCES data_table (id))"
    )
    op.execute("CREATE INDEX ix_audit_file_data_table_id ON audit_file (data_table_id)")
