"""Seals of verdicts, reports, waivers, releases, reviews and the ends of logs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SEALED = ("audit", "report", "waiver", "release", "review")


def upgrade() -> None:
    """Add what seals are kept in; ``treewarden db upgrade`` seals what was written before."""
    for table in SEALED:
        op.add_column(table, sa.Column("seal", sa.String(length=64), nullable=True))
    op.create_table(
        "log_head",
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("seal", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_log_head_organisation_id")
        ),
        sa.PrimaryKeyConstraint("organisation_id", name=op.f("pk_log_head")),
    )
    op.create_index(
        op.f("ix_log_entry_organisation_id_object_id"),
        "log_entry",
        ["organisation_id", "object_id"],
        unique=False,
    )
