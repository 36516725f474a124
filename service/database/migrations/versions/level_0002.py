"""Names of accounts belong to their organisation, by keys that look-alikes share; sessions say where and when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from treewarden.service.names import look_key, name_key

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KEYS = {"name_key": name_key, "look_key": look_key}


def upgrade() -> None:
    """Fill the keys of names that are there, and hold new ones against them."""
    op.add_column(
        "session",
        sa.Column("address", sa.String(length=64), nullable=False, server_default=""),
    )
    op.add_column("session", sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True))
    for column in KEYS:
        op.add_column("account", sa.Column(column, sa.String(length=64), nullable=True))
    _fill_keys()
    with op.batch_alter_table("account") as account:
        account.drop_constraint(op.f("uq_account_name"), type_="unique")
        for column in KEYS:
            account.alter_column(column, existing_type=sa.String(length=64), nullable=False)
            account.create_unique_constraint(
                op.f(f"uq_account_organisation_id_{column}"), ["organisation_id", column]
            )


def _fill_keys() -> None:
    """Give each account its keys; of several that look alike the oldest, the others keep their ids for keys."""
    connection, seen = op.get_bind(), set[tuple[str, str, str]]()
    account = sa.table("account", *map(sa.column, ("id", "organisation_id", "name", *KEYS)))
    columns = (account.c.id, account.c.organisation_id, account.c.name)
    for row in connection.execute(sa.select(*columns).order_by(account.c.id)).all():
        values = {}
        for column, key_of in KEYS.items():
            key = key_of(row.name)
            is_taken = (row.organisation_id, column, key) in seen
            values[column] = row.id if is_taken else key
            seen.add((row.organisation_id, column, key))
        connection.execute(sa.update(account).where(account.c.id == row.id).values(**values))
