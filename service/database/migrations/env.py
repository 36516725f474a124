"""Runs the steps of the schema over the connection that ``treewarden.service.database.engine`` gives."""

from __future__ import annotations

from alembic import context

from treewarden.service.database.run_tables import SCHEMA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SCHEMA,
    render_as_batch=True,
)
connection = context.config.attributes["connection"]
is_sqlite = connection.dialect.name == "sqlite"
with context.begin_transaction():
    if is_sqlite:  # else no table that a view or a trigger names could be made anew
        connection.exec_driver_sql("PRAGMA legacy_alter_table = ON")
    context.run_migrations()
    if is_sqlite:
        connection.exec_driver_sql("PRAGMA legacy_alter_table = OFF")
