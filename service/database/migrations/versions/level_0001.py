"""The first level: everything that ``treewarden.service.database.tables`` says, and a log that nobody can change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

UNCHANGED = "the log is never changed"


def upgrade() -> None:
    """Make all tables, and refuse changes of the log."""
    op.create_table(
        "idempotency",
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=True),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint(
            "organisation_id", "account_id", "key", name=op.f("pk_idempotency")
        ),
    )
    op.create_table(
        "organisation",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("keeps_profiles", sa.Boolean(), nullable=False),
        sa.Column("report_days", sa.Integer(), nullable=False),
        sa.Column("checklist", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organisation")),
        sa.UniqueConstraint("name", name=op.f("uq_organisation_name")),
    )
    op.create_table(
        "sign_in_failure",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_failure")),
    )
    op.create_index(
        op.f("ix_sign_in_failure_name_hash_created_at"),
        "sign_in_failure",
        ["name_hash", "created_at"],
        unique=False,
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("version", sa.String(length=40), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker")),
    )
    op.create_table(
        "account",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=40), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("password_is_temporary", sa.Boolean(), nullable=False),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_account_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_account")),
        sa.UniqueConstraint("name", name=op.f("uq_account_name")),
        sa.UniqueConstraint("oidc_subject", name=op.f("uq_account_oidc_subject")),
    )
    op.create_index(
        op.f("ix_account_organisation_id"), "account", ["organisation_id"], unique=False
    )
    op.create_table(
        "job",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("subject_id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.String(length=200), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_job_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(op.f("ix_job_state_created_at"), "job", ["state", "created_at"], unique=False)
    op.create_index(op.f("ix_job_subject_id"), "job", ["subject_id"], unique=False)
    op.create_table(
        "log_entry",
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor_id", sa.String(length=32), nullable=True),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("object_kind", sa.String(length=40), nullable=False),
        sa.Column("object_id", sa.String(length=32), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("previous_hash", sa.String(length=64), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_log_entry_organisation_id")
        ),
        sa.PrimaryKeyConstraint("organisation_id", "seq", name=op.f("pk_log_entry")),
    )
    op.create_table(
        "blob",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("sealed_key", sa.LargeBinary(), nullable=True),
        sa.Column("uploaded_by", sa.String(length=32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "erased_at IS NULL OR sealed_key IS NULL", name=op.f("ck_blob_no_key_when_erased")
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_blob_organisation_id")
        ),
        sa.ForeignKeyConstraint(["uploaded_by"], ["account.id"], name=op.f("fk_blob_uploaded_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_blob")),
    )
    op.create_index(op.f("ix_blob_expires_at"), "blob", ["expires_at"], unique=False)
    op.create_index(
        op.f("ix_blob_organisation_id_digest"), "blob", ["organisation_id", "digest"], unique=False
    )
    op.create_table(
        "job_event",
        sa.Column("job_id", sa.String(length=32), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_event_job_id")),
        sa.PrimaryKeyConstraint("job_id", "seq", name=op.f("pk_job_event")),
    )
    op.create_table(
        "model",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_model_created_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_model_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model")),
        sa.UniqueConstraint("organisation_id", "name", name=op.f("uq_model_organisation_id_name")),
    )
    op.create_table(
        "pack",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_pack_created_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_pack_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pack")),
        sa.UniqueConstraint("organisation_id", "name", name=op.f("uq_pack_organisation_id_name")),
    )
    op.create_table(
        "session",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_session_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
        sa.UniqueConstraint("hash", name=op.f("uq_session_hash")),
    )
    op.create_index(op.f("ix_session_account_id"), "session", ["account_id"], unique=False)
    op.create_table(
        "token",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("account_id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("permissions", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"], name=op.f("fk_token_account_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_token_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_token_hash")),
    )
    op.create_index(op.f("ix_token_account_id"), "token", ["account_id"], unique=False)
    op.create_index(op.f("ix_token_organisation_id"), "token", ["organisation_id"], unique=False)
    op.create_table(
        "waiver",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("clause", sa.Text(), nullable=False),
        sa.Column("leaf", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("model_name", sa.Text(), nullable=True),
        sa.Column("worst", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("ticket", sa.Text(), nullable=False),
        sa.Column("expires", sa.String(length=10), nullable=False),
        sa.Column("granted", sa.String(length=10), nullable=True),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("requested_by", sa.String(length=32), nullable=False),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_by", sa.String(length=32), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state <> 'approved' OR decided_by IS NOT NULL",
            name=op.f("ck_waiver_approved_by_somebody"),
        ),
        sa.CheckConstraint(
            "decided_by IS NULL OR decided_by <> requested_by", name=op.f("ck_waiver_four_eyes")
        ),
        sa.ForeignKeyConstraint(["decided_by"], ["account.id"], name=op.f("fk_waiver_decided_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_waiver_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["requested_by"], ["account.id"], name=op.f("fk_waiver_requested_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_waiver")),
    )
    op.create_index(
        op.f("ix_waiver_organisation_id_state"),
        "waiver",
        ["organisation_id", "state"],
        unique=False,
    )
    op.create_table(
        "webhook",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("sealed_secret", sa.LargeBinary(), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_webhook_created_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_webhook_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index(
        op.f("ix_webhook_organisation_id"), "webhook", ["organisation_id"], unique=False
    )
    op.create_table(
        "data_table",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("blob_id", sa.String(length=32), nullable=True),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("file_name", sa.String(length=200), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=True),
        sa.Column("columns", sa.JSON(), nullable=True),
        sa.Column("uploaded_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["blob_id"], ["blob.id"], name=op.f("fk_data_table_blob_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_data_table_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["uploaded_by"], ["account.id"], name=op.f("fk_data_table_uploaded_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_data_table")),
    )
    op.create_index(
        op.f("ix_data_table_organisation_id_created_at"),
        "data_table",
        ["organisation_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "delivery",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("webhook_id", sa.String(length=32), nullable=False),
        sa.Column("event", sa.String(length=40), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_delivery_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhook.id"], name=op.f("fk_delivery_webhook_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
    )
    op.create_index(
        op.f("ix_delivery_state_next_at"), "delivery", ["state", "next_at"], unique=False
    )
    op.create_index(op.f("ix_delivery_webhook_id"), "delivery", ["webhook_id"], unique=False)
    op.create_table(
        "model_version",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("model_id", sa.String(length=32), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("blob_id", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.String(length=200), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("format", sa.String(length=40), nullable=False),
        sa.Column("summary", sa.JSON(), nullable=True),
        sa.Column("uploaded_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["blob.id"], name=op.f("fk_model_version_blob_id")),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_model_version_model_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_model_version_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["uploaded_by"], ["account.id"], name=op.f("fk_model_version_uploaded_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_version")),
        sa.UniqueConstraint("id", "uploaded_by", name=op.f("uq_model_version_id_uploaded_by")),
        sa.UniqueConstraint("model_id", "n", name=op.f("uq_model_version_model_id_n")),
    )
    op.create_index(op.f("ix_model_version_digest"), "model_version", ["digest"], unique=False)
    op.create_table(
        "pack_version",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("pack_id", sa.String(length=32), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("toml", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["created_by"], ["account.id"], name=op.f("fk_pack_version_created_by")
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_pack_version_organisation_id")
        ),
        sa.ForeignKeyConstraint(["pack_id"], ["pack.id"], name=op.f("fk_pack_version_pack_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pack_version")),
        sa.UniqueConstraint("pack_id", "n", name=op.f("uq_pack_version_pack_id_n")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("model_version_id", sa.String(length=32), nullable=False),
        sa.Column("data_table_id", sa.String(length=32), nullable=True),
        sa.Column("pack_version_id", sa.String(length=32), nullable=True),
        sa.Column("pack_name", sa.String(length=200), nullable=False),
        sa.Column("pack_digest", sa.String(length=64), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("knowledge", sa.Text(), nullable=False),
        sa.Column("waivers", sa.JSON(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("verdict", sa.String(length=40), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("headline", sa.Text(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("entry", sa.JSON(), nullable=True),
        sa.Column("provenance", sa.JSON(), nullable=True),
        sa.Column("result_attempt", sa.Integer(), nullable=True),
        sa.Column("repaired_version_id", sa.String(length=32), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(state = 'done') = (verdict IS NOT NULL)", name=op.f("ck_audit_verdict_when_done")
        ),
        sa.CheckConstraint(
            "verdict IS NULL OR verdict IN ('PASS', 'FAIL', 'UNDETERMINED')",
            name=op.f("ck_audit_a_verdict"),
        ),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_audit_created_by")),
        sa.ForeignKeyConstraint(
            ["data_table_id"], ["data_table.id"], name=op.f("fk_audit_data_table_id")
        ),
        sa.ForeignKeyConstraint(
            ["model_version_id"], ["model_version.id"], name=op.f("fk_audit_model_version_id")
        ),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_audit_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["pack_version_id"], ["pack_version.id"], name=op.f("fk_audit_pack_version_id")
        ),
        sa.ForeignKeyConstraint(
            ["repaired_version_id"], ["model_version.id"], name=op.f("fk_audit_repaired_version_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
        sa.UniqueConstraint("id", "model_version_id", name=op.f("uq_audit_id_model_version_id")),
    )
    op.create_index(op.f("ix_audit_data_table_id"), "audit", ["data_table_id"], unique=False)
    op.create_index(op.f("ix_audit_model_version_id"), "audit", ["model_version_id"], unique=False)
    op.create_index(
        op.f("ix_audit_organisation_id_created_at"),
        "audit",
        ["organisation_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "comparison",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("model_id", sa.String(length=32), nullable=False),
        sa.Column("from_version_id", sa.String(length=32), nullable=False),
        sa.Column("to_version_id", sa.String(length=32), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("trees", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["from_version_id"], ["model_version.id"], name=op.f("fk_comparison_from_version_id")
        ),
        sa.ForeignKeyConstraint(["model_id"], ["model.id"], name=op.f("fk_comparison_model_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_comparison_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["to_version_id"], ["model_version.id"], name=op.f("fk_comparison_to_version_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comparison")),
        sa.UniqueConstraint(
            "from_version_id",
            "to_version_id",
            name=op.f("uq_comparison_from_version_id_to_version_id"),
        ),
    )
    op.create_table(
        "finding",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("audit_id", sa.String(length=32), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("result_id", sa.Text(), nullable=False),
        sa.Column("clause", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(length=40), nullable=False),
        sa.Column("severity", sa.String(length=40), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("leaf", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("accepted", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["audit_id"], ["audit.id"], name=op.f("fk_finding_audit_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_finding_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding")),
        sa.UniqueConstraint("audit_id", "n", name=op.f("uq_finding_audit_id_n")),
    )
    op.create_table(
        "release",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("model_version_id", sa.String(length=32), nullable=False),
        sa.Column("uploader_id", sa.String(length=32), nullable=False),
        sa.Column("audit_id", sa.String(length=32), nullable=False),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=40), nullable=False),
        sa.Column("checklist", sa.JSON(), nullable=False),
        sa.Column("opened_by", sa.String(length=32), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["audit_id", "model_version_id"],
            ["audit.id", "audit.model_version_id"],
            name="fk_release_audit",
        ),
        sa.ForeignKeyConstraint(
            ["model_version_id", "uploader_id"],
            ["model_version.id", "model_version.uploaded_by"],
            name=op.f("fk_release_model_version_id_uploader_id"),
        ),
        sa.ForeignKeyConstraint(["opened_by"], ["account.id"], name=op.f("fk_release_opened_by")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_release_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_release")),
        sa.UniqueConstraint(
            "id", "uploader_id", "opened_by", name=op.f("uq_release_id_uploader_id_opened_by")
        ),
    )
    op.create_index(
        op.f("ix_release_organisation_id_state"),
        "release",
        ["organisation_id", "state"],
        unique=False,
    )
    op.create_table(
        "report",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("audit_id", sa.String(length=32), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("form", sa.String(length=40), nullable=False),
        sa.Column("blob_id", sa.String(length=32), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["audit_id"], ["audit.id"], name=op.f("fk_report_audit_id")),
        sa.ForeignKeyConstraint(["blob_id"], ["blob.id"], name=op.f("fk_report_blob_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_report_organisation_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report")),
        sa.UniqueConstraint("audit_id", "kind", "form", name=op.f("uq_report_audit_id_kind_form")),
    )
    op.create_table(
        "comment",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("release_id", sa.String(length=32), nullable=False),
        sa.Column("author_id", sa.String(length=32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["account.id"], name=op.f("fk_comment_author_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_comment_organisation_id")
        ),
        sa.ForeignKeyConstraint(["release_id"], ["release.id"], name=op.f("fk_comment_release_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_comment")),
    )
    op.create_index(op.f("ix_comment_release_id"), "comment", ["release_id"], unique=False)
    op.create_table(
        "review",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("organisation_id", sa.String(length=32), nullable=False),
        sa.Column("release_id", sa.String(length=32), nullable=False),
        sa.Column("uploader_id", sa.String(length=32), nullable=False),
        sa.Column("opened_by", sa.String(length=32), nullable=False),
        sa.Column("reviewer_id", sa.String(length=32), nullable=False),
        sa.Column("decision", sa.String(length=40), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "decision IN ('approve', 'reject', 'changes')", name=op.f("ck_review_a_decision")
        ),
        sa.CheckConstraint("reviewer_id <> opened_by", name=op.f("ck_review_not_who_asked")),
        sa.CheckConstraint("reviewer_id <> uploader_id", name=op.f("ck_review_not_the_uploader")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_review_organisation_id")
        ),
        sa.ForeignKeyConstraint(
            ["release_id", "uploader_id", "opened_by"],
            ["release.id", "release.uploader_id", "release.opened_by"],
            name=op.f("fk_review_release_id_uploader_id_opened_by"),
        ),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["account.id"], name=op.f("fk_review_reviewer_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_review")),
    )
    op.create_index(op.f("ix_review_release_id"), "review", ["release_id"], unique=False)

    for statement in _triggers(op.get_bind().dialect.name):
        op.execute(statement)


def _triggers(dialect: str) -> tuple[str, ...]:
    if dialect == "sqlite":
        return tuple(
            f"CREATE TRIGGER log_entry_no_{what} BEFORE {what} ON log_entry "
            f"BEGIN SELECT RAISE(ABORT, '{UNCHANGED}'); END"
            for what in ("update", "delete")
        )
    return (
        "CREATE FUNCTION log_entry_unchanged() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{UNCHANGED}'; END $$",
        "CREATE TRIGGER log_entry_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON log_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION log_entry_unchanged()",
    )
