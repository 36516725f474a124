"""The tables of who there is, what was submitted, and who decided; the rules that no code may break."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    column,
    table,
)

from treewarden.service.database.run_tables import (
    DIGEST,
    ID,
    METADATA,
    NAME,
    WORD,
    Utc,
    id_column,
    key_column,
    moment_column,
    reference_column,
)
from treewarden.service.names import look_key, name_key

organisation = Table(
    "organisation",
    METADATA,
    id_column(),
    Column("name", NAME, nullable=False, unique=True),
    Column("keeps_profiles", Boolean, nullable=False, default=False),
    Column("report_days", Integer, nullable=False, default=3650),
    Column("checklist", JSON, nullable=False),
    Column("least_pack", NAME, nullable=True),
    moment_column(),
)
"""``keeps_profiles``: whether reports that hold counts of profiles are kept; ``checklist``: what reviewers tick off.

``least_pack`` is the policy that every release should be judged by at least: ``name`` of one that ships, or ``name@2``.
"""

account = Table(
    "account",
    METADATA,
    id_column(),
    reference_column("organisation", index=True),
    Column("name", NAME, nullable=False),
    key_column("name_key", name_key),
    key_column("look_key", look_key),
    Column("role", WORD, nullable=False),
    Column("password_hash", Text, nullable=True),
    Column("password_is_temporary", Boolean, nullable=False, default=False),
    Column("oidc_subject", Text, nullable=True, unique=True),
    Column("mail_address", Text, nullable=True),
    Column("mail_events", JSON, nullable=True),
    moment_column(),
    moment_column("disabled_at", optional=True),
    UniqueConstraint("organisation_id", "name_key"),
    UniqueConstraint("organisation_id", "look_key"),
)
"""A name belongs to its organisation. Its two keys are those of ``treewarden.service.names``: no two
accounts of one organisation look alike. ``mail_events``: the events that somebody wants to hear of by e-mail; null
where nothing was said."""

session = Table(
    "session",
    METADATA,
    id_column(),
    Column("hash", DIGEST, nullable=False, unique=True),
    reference_column("account", index=True),
    Column("address", String(64), nullable=False, default=""),
    moment_column(),
    moment_column("seen_at", optional=True),
    moment_column("expires_at"),
)
"""``address``: where it was begun; ``seen_at``: its last request, to the minute, None for one that had none yet."""

token = Table(
    "token",
    METADATA,
    id_column(),
    reference_column("organisation", index=True),
    reference_column("account", index=True),
    Column("name", NAME, nullable=False),
    Column("prefix", String(16), nullable=False),
    Column("hash", DIGEST, nullable=False, unique=True),
    Column("permissions", JSON, nullable=False),
    moment_column(),
    moment_column("expires_at", optional=True),
    moment_column("revoked_at", optional=True),
    moment_column("used_at", optional=True),
)

sign_in_failure = Table(
    "sign_in_failure",
    METADATA,
    id_column(),
    Column("name_hash", DIGEST, nullable=False),
    moment_column(),
    Index(None, "name_hash", "created_at"),
)

blob = Table(
    "blob",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("digest", DIGEST, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("kind", WORD, nullable=False),
    Column("sealed_key", LargeBinary, nullable=True),
    reference_column("account", "uploaded_by", optional=True),
    moment_column(),
    moment_column("expires_at", optional=True),
    moment_column("erased_at", optional=True),
    CheckConstraint("erased_at IS NULL OR sealed_key IS NULL", name="no_key_when_erased"),
    Index(None, "organisation_id", "digest"),
    Index(None, "expires_at"),
)
"""Bytes in the vault. ``kind`` is model, table, report, file or upload; without its key nobody can read one."""

contributor = Table(
    "contributor",
    METADATA,
    Column("blob_id", ID, ForeignKey("blob.id"), primary_key=True),
    Column("account_id", ID, ForeignKey("account.id"), primary_key=True),
    moment_column(),
)
"""Everybody who sent the bytes of a model, also bytes that were there already; of a file that a repair wrote, also
those who brought the file before it. Triggers refuse to change or delete a row."""

model = Table(
    "model",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("name", NAME, nullable=False),
    Column("description", Text, nullable=False, default=""),
    reference_column("account", "created_by"),
    moment_column(),
    UniqueConstraint("organisation_id", "name"),
)

model_version = Table(
    "model_version",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("model"),
    Column("n", Integer, nullable=False),
    reference_column("blob"),
    Column("digest", DIGEST, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("file_name", NAME, nullable=False),
    Column("state", WORD, nullable=False),
    Column("problem", Text, nullable=False, default=""),
    Column("format", WORD, nullable=False, default=""),
    Column("summary", JSON, nullable=True),
    reference_column("account", "uploaded_by"),
    moment_column(),
    UniqueConstraint("model_id", "n"),
    UniqueConstraint("id", "uploaded_by"),
)
"""``state``: reading, ready, refused; ``summary`` is what ``inspect`` says of the file."""

data_table = Table(
    "data_table",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("kind", WORD, nullable=False),
    reference_column("blob", optional=True),
    Column("path", Text, nullable=True),
    Column("file_name", NAME, nullable=False),
    Column("digest", DIGEST, nullable=False, default=""),
    Column("state", WORD, nullable=False),
    Column("problem", Text, nullable=False, default=""),
    Column("records", BigInteger, nullable=True),
    Column("columns", JSON, nullable=True),
    reference_column("account", "uploaded_by"),
    moment_column(),
    moment_column("expires_at"),
    moment_column("erased_at", optional=True),
    Column("holds", WORD, nullable=False, server_default="records"),
    Index(None, "organisation_id", "created_at"),
)
"""A training table, or a further file of an audit, kept as one. ``kind``: upload, path; ``state``: reading, ready,
refused, erased; ``columns``: their names and kinds. ``holds``: records, output (published with a model), dictionary
(labels of columns)."""

table_share = Table(
    "table_share",
    METADATA,
    Column("data_table_id", ID, ForeignKey("data_table.id"), primary_key=True),
    Column("account_id", ID, ForeignKey("account.id"), primary_key=True),
    reference_column("organisation"),
    moment_column(),
    Index(None, "account_id"),
)
"""With whom the owner of a table shares it."""

pack = Table(
    "pack",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("name", NAME, nullable=False),
    reference_column("account", "created_by"),
    moment_column(),
    UniqueConstraint("organisation_id", "name"),
)

pack_version = Table(
    "pack_version",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("pack"),
    Column("n", Integer, nullable=False),
    Column("digest", DIGEST, nullable=False),
    Column("toml", Text, nullable=False),
    Column("note", Text, nullable=False, default=""),
    reference_column("account", "created_by"),
    moment_column(),
    UniqueConstraint("pack_id", "n"),
)

waiver = Table(
    "waiver",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("clause", Text, nullable=False),
    Column("leaf", Text, nullable=False, default=""),
    Column("digest", Text, nullable=False, default=""),
    Column("model_name", Text, nullable=True),
    Column("worst", Text, nullable=True),
    Column("reason", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("ticket", Text, nullable=False),
    Column("expires", String(10), nullable=False),
    Column("granted", String(10), nullable=True),
    Column("state", WORD, nullable=False),
    reference_column("account", "requested_by"),
    moment_column("requested_at"),
    reference_column("account", "decided_by", optional=True),
    moment_column("decided_at", optional=True),
    Column("comment", Text, nullable=False, default=""),
    Column("seal", DIGEST, nullable=True),
    CheckConstraint("decided_by IS NULL OR decided_by <> requested_by", name="four_eyes"),
    CheckConstraint("state <> 'approved' OR decided_by IS NOT NULL", name="approved_by_somebody"),
    Index(None, "organisation_id", "state"),
)
"""``state``: requested, approved, refused, revoked; ``worst`` is a number as TOML writes it; days as 2026-01-31."""

release = Table(
    "release",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("model_version_id", ID, nullable=False),
    Column("uploader_id", ID, nullable=False),
    Column("audit_id", ID, nullable=False),
    Column("title", NAME, nullable=False),
    Column("purpose", Text, nullable=False, default=""),
    Column("state", WORD, nullable=False),
    Column("checklist", JSON, nullable=False),
    reference_column("account", "opened_by"),
    moment_column("opened_at"),
    moment_column("decided_at", optional=True),
    Column("revision", Integer, nullable=False, default=1),
    Column("seal", DIGEST, nullable=True),
    ForeignKeyConstraint(
        ["model_version_id", "uploader_id"], ["model_version.id", "model_version.uploaded_by"]
    ),
    ForeignKeyConstraint(
        ["audit_id", "model_version_id"],
        ["audit.id", "audit.model_version_id"],
        name="fk_release_audit",
    ),
    UniqueConstraint("id", "uploader_id", "opened_by"),
    Index(None, "organisation_id", "state"),
)
"""A wish to release a version. ``state``: open, changes, approved, rejected, withdrawn, released."""

review = Table(
    "review",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("release_id", ID, nullable=False, index=True),
    Column("uploader_id", ID, nullable=False),
    Column("opened_by", ID, nullable=False),
    reference_column("account", "reviewer_id"),
    Column("decision", WORD, nullable=False),
    Column("comment", Text, nullable=False, default=""),
    moment_column("at"),
    Column("seal", DIGEST, nullable=True),
    ForeignKeyConstraint(
        ["release_id", "uploader_id", "opened_by"],
        ["release.id", "release.uploader_id", "release.opened_by"],
    ),
    CheckConstraint("reviewer_id <> uploader_id", name="not_the_uploader"),
    CheckConstraint("reviewer_id <> opened_by", name="not_who_asked"),
    CheckConstraint("decision IN ('approve', 'reject', 'changes')", name="a_decision"),
)
"""One decision. Its keys repeat those of the release, so that the checks hold whoever writes the row; a trigger
refuses one by anybody in ``release_party``."""

release_party = table(
    "release_party",
    column("release_id"),
    column("account_id"),
    column("part"),
    column("since", Utc),
)
"""A view: everybody whose own a release is, and their part: uploaded, opened, asked, wrote, brought or waived.
``since`` is None where the part was there before the release was."""

comment = Table(
    "comment",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("release", index=True),
    reference_column("account", "author_id"),
    Column("text", Text, nullable=False),
    moment_column("at"),
)
