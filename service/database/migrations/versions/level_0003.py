"""Who owns a table, and four eyes: shares, who brought the bytes of a model, and whose own a release is."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

OWN = "nobody decides about what is his own"
STAYS = "who had a part in it never changes"
UNTIMED = "CAST(NULL AS TIMESTAMP WITH TIME ZONE)"
WAIVERS = {
    "sqlite": "json_each(a.waivers) AS named JOIN waiver w ON w.id = named.value",
    "postgresql": "json_array_elements_text(a.waivers) AS named(id) JOIN waiver w ON w.id = named.id",
}
FIXED = {
    "audit": ("created_by", "pack_version_id"),
    "pack_version": ("created_by",),
    "waiver": ("requested_by",),
}
"""The columns that say who had a part, and are written once."""


def upgrade() -> None:
    """Make the tables, name those who brought the models that are there, and have the database refuse one's own."""
    op.add_column("organisation", sa.Column("least_pack", sa.String(length=200), nullable=True))
    op.create_table(
        "contributor",
        sa.Column("blob_id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_contributor_account_id")
        ),
        sa.ForeignKeyConstraint(["blob_id"], ["blob.id"], name=op.f("fk_contributor_blob_id")),
        sa.PrimaryKeyConstraint("blob_id", "account_id", name=op.f("pk_contributor")),
    )
    op.create_table(
        "table_share",
        sa.Column("data_table_id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_table_share_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["data_table_id"], ["data_table.id"], name=op.f("fk_table_share_data_table_id")
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_table_share_organisation_id")
        ),
        sa.PrimaryKeyConstraint("data_table_id", "account_id", name=op.f("pk_table_share")),
    )
    op.create_index(op.f("ix_table_share_account_id"), "table_share", ["account_id"], unique=False)
    _name_contributors()
    dialect = op.get_bind().dialect.name
    op.execute(_parties(WAIVERS[dialect]))
    for statement in _triggers(dialect):
        op.execute(statement)


def _name_contributors() -> None:
    """Name who sent each model, and who had a part in the file that a repair changed, oldest repairs first."""
    op.execute(
        "INSERT INTO contributor (blob_id, account_id, created_at) "
        "SELECT id, uploaded_by, created_at FROM blob WHERE kind = 'model' AND uploaded_by IS NOT NULL"
    )
    connection = op.get_bind()
    repairs = connection.execute(
        sa.text(
            "SELECT new.blob_id AS blob_id, old.blob_id AS of_blob_id, old.uploaded_by AS uploaded_by, "
            "new.created_at AS at FROM audit JOIN model_version new ON new.id = audit.repaired_version_id "
            "JOIN model_version old ON old.id = audit.model_version_id ORDER BY new.id"
        )
    ).all()
    known = sa.text("SELECT account_id FROM contributor WHERE blob_id = :blob")
    added = sa.text(
        "INSERT INTO contributor (blob_id, account_id, created_at) VALUES (:blob, :account, :at)"
    )
    for row in repairs:
        before = connection.execute(known, {"blob": row.of_blob_id}).scalars().all()
        for each in sorted({*before, row.uploaded_by}):
            values = {"blob": row.blob_id, "account": each, "at": row.at}
            connection.execute(added, values)


def _parties(waivers: str) -> str:
    """Return the view of everybody whose own a release is."""
    version = "FROM release r JOIN model_version v ON v.id = r.model_version_id"
    audited = "FROM release r JOIN audit a ON a.id = r.audit_id"
    same = "o.organisation_id = v.organisation_id AND o.digest = v.digest"
    return f"""CREATE VIEW release_party AS
SELECT r.id AS release_id, r.uploader_id AS account_id, 'uploaded' AS part, {UNTIMED} AS since FROM release r
UNION ALL SELECT r.id, r.opened_by, 'opened', {UNTIMED} FROM release r
UNION ALL SELECT r.id, a.created_by, 'asked', {UNTIMED} {audited}
UNION ALL SELECT r.id, p.created_by, 'wrote', {UNTIMED} {audited} JOIN pack_version p ON p.id = a.pack_version_id
UNION ALL SELECT r.id, c.account_id, 'brought', c.created_at {version}
JOIN blob o ON {same} JOIN contributor c ON c.blob_id = o.id
UNION ALL SELECT r.id, o.uploaded_by, 'brought', o.created_at {version} JOIN model_version o ON {same}
UNION ALL SELECT r.id, w.requested_by, 'waived', {UNTIMED} {audited} CROSS JOIN {waivers}"""


def _triggers(dialect: str) -> tuple[str, ...]:
    if dialect == "sqlite":
        return (
            *(
                f"CREATE TRIGGER review_four_eyes_{what} AFTER {what} ON review WHEN {_is_own()} "
                f"BEGIN SELECT RAISE(ABORT, '{OWN}'); END"
                for what in ("insert", "update")
            ),
            *(
                f"CREATE TRIGGER {name}_parts BEFORE UPDATE ON {name} WHEN {_changes(columns, 'IS NOT')} "
                f"BEGIN SELECT RAISE(ABORT, '{STAYS}'); END"
                for name, columns in FIXED.items()
            ),
            *(
                f"CREATE TRIGGER contributor_no_{what} BEFORE {what} ON contributor "
                f"BEGIN SELECT RAISE(ABORT, '{STAYS}'); END"
                for what in ("update", "delete")
            ),
        )
    return (
        "CREATE FUNCTION review_four_eyes() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF {_is_own()} THEN RAISE EXCEPTION '{OWN}' USING ERRCODE = 'check_violation'; "
        "END IF; RETURN NEW; END $$",
        "CREATE TRIGGER review_four_eyes AFTER INSERT OR UPDATE ON review "
        "FOR EACH ROW EXECUTE FUNCTION review_four_eyes()",
        "CREATE FUNCTION parts_stay() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{STAYS}' USING ERRCODE = 'check_violation'; END $$",
        *(
            f"CREATE TRIGGER {name}_parts BEFORE UPDATE ON {name} FOR EACH ROW "
            f"WHEN ({_changes(columns, 'IS DISTINCT FROM')}) EXECUTE FUNCTION parts_stay()"
            for name, columns in FIXED.items()
        ),
        "CREATE TRIGGER contributor_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON contributor "
        "FOR EACH STATEMENT EXECUTE FUNCTION parts_stay()",
    )


def _is_own() -> str:
    return (
        "EXISTS (SELECT 1 FROM release_party p WHERE p.release_id = NEW.release_id "
        "AND p.account_id = NEW.reviewer_id AND (p.since IS NULL OR p.since <= NEW.at))"
    )


def _changes(columns: tuple[str, ...], differs: str) -> str:
    return " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in columns)
