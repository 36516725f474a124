"""What follows from a verdict: repairs with their proposals, tables that stay for one, and notices by e-mail."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables of proposals and mails, and the columns that name what they are about."""
    op.add_column("account", sa.Column("mail_address", sa.Text(), nullable=True))
    op.add_column("account", sa.Column("mail_events", sa.JSON(), nullable=True))
    op.add_column("audit", sa.Column("original_audit_id", sa.String(length=32), nullable=True))
    op.add_column("audit", sa.Column("keeps_table", sa.Boolean(), nullable=True))
    op.add_column("audit", sa.Column("tries_all", sa.Boolean(), nullable=True))
    op.add_column("audit", sa.Column("repair_summary", sa.JSON(), nullable=True))
    op.create_index(op.f("ix_audit_original_audit_id"), "audit", ["original_audit_id"])
    op.create_table(
        "proposal",
        *_ids("organisation", "audit"),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("remedies", sa.JSON(), nullable=False),
        sa.Column("verdict", sa.String(length=40), nullable=False),
        sa.Column("is_recommended", sa.Boolean(), nullable=False),
        sa.Column("cost", sa.JSON(), nullable=False),
        sa.Column("failing", sa.JSON(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("file_name", sa.String(length=200), nullable=False),
        sa.Column("blob_id", sa.String(length=32), nullable=True),
        sa.Column("model_version_id", sa.String(length=32), nullable=True),
        *_keys("proposal", "organisation", "audit", "blob", "model_version"),
        sa.UniqueConstraint("audit_id", "n", name=op.f("uq_proposal_audit_id_n")),
    )
    op.create_index(op.f("ix_proposal_blob_id"), "proposal", ["blob_id"])
    op.create_table(
        "mail",
        *_ids("organisation", "account"),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        *_keys("mail", "organisation", "account"),
    )
    op.create_index(op.f("ix_mail_account_id"), "mail", ["account_id"])
    op.create_index(op.f("ix_mail_state_next_at"), "mail", ["state", "next_at"])


def _ids(*tables: str) -> tuple[sa.Column[str], ...]:
    names = ("id", *(f"{table}_id" for table in tables))
    return tuple(sa.Column(name, sa.String(length=32), nullable=False) for name in names)


def _keys(table: str, *others: str) -> tuple[sa.Constraint, ...]:
    return (
        *(
            sa.ForeignKeyConstraint(
                [f"{each}_id"], [f"{each}.id"], name=op.f(f"fk_{table}_{each}_id")
            )
            for each in others
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
