"""Runs the steps of the schema over the connection that ``service.database.levels`` gives."""

from __future__ import annotations

from alembic import context

from service.database.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
