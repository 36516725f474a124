"""The first level: every table, view and trigger, as the files beside it froze them for each kind of database."""

from __future__ import annotations

from alembic import op

from treewarden.service.database.migrations.freeze import frozen_statements

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables, and have the database refuse what no code may do."""
    connection = op.get_bind()
    for statement in frozen_statements(revision, connection.dialect.name):
        connection.exec_driver_sql(statement)
