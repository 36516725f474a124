"""The tables of the service: who, what was submitted, what was found, who decided; the rules that no code may break."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    column,
    table,
)
from sqlalchemy.engine.default import DefaultExecutionContext

from treewarden.service.names import look_key, name_key

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Utc(TypeDecorator[datetime]):
    """A moment, always in UTC; SQLite keeps it without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a zone")
        told = value.astimezone(UTC)
        return told.replace(tzinfo=None) if dialect.name == "sqlite" else told

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData(naming_convention=NAMES)
ID = String(32)
DIGEST = String(64)
NAME = String(200)
WORD = String(40)


def _id() -> Column[str]:
    return Column("id", ID, primary_key=True)


def _column(
    table: str, name: str = "", *, optional: bool = False, index: bool = False
) -> Column[str]:
    key = ForeignKey(f"{table}.id")
    return Column(name or f"{table}_id", ID, key, nullable=optional, index=index)


def _at(name: str = "created_at", *, optional: bool = False) -> Column[datetime]:
    return Column(name, Utc, nullable=optional)


def _key(name: str, of: Callable[[str], str]) -> Column[str]:
    """Return a column that is computed from the name in the same row."""

    def computed(context: DefaultExecutionContext) -> str:
        row = context.get_current_parameters()  # type: ignore[no-untyped-call]  # as SQLAlchemy has it
        return of(row["name"])

    return Column(name, DIGEST, nullable=False, default=computed)


organisation = Table(
    "organisation",
    METADATA,
    _id(),
    Column("name", NAME, nullable=False, unique=True),
    Column("keeps_profiles", Boolean, nullable=False, default=False),
    Column("report_days", Integer, nullable=False, default=3650),
    Column("checklist", JSON, nullable=False),
    Column("least_pack", NAME, nullable=True),
    _at(),
)
"""``keeps_profiles``: whether reports that hold counts of profiles are kept; ``checklist``: what reviewers tick off.

``least_pack`` is the policy that every release should be judged by at least: ``name`` of one that ships, or ``name@2``.
"""

account = Table(
    "account",
    METADATA,
    _id(),
    _column("organisation", index=True),
    Column("name", NAME, nullable=False),
    _key("name_key", name_key),
    _key("look_key", look_key),
    Column("role", WORD, nullable=False),
    Column("password_hash", Text, nullable=True),
    Column("password_is_temporary", Boolean, nullable=False, default=False),
    Column("oidc_subject", Text, nullable=True, unique=True),
    Column("mail_address", Text, nullable=True),
    Column("mail_events", JSON, nullable=True),
    _at(),
    _at("disabled_at", optional=True),
    UniqueConstraint("organisation_id", "name_key"),
    UniqueConstraint("organisation_id", "look_key"),
)
"""A name belongs to its organisation. Its two keys are those of ``treewarden.service.names``: no two
accounts of one
organisation look alike. ``mail_events``: the events that somebody wants to hear of by e-mail; null where nothing was
said."""

session = Table(
    "session",
    METADATA,
    _id(),
    Column("hash", DIGEST, nullable=False, unique=True),
    _column("account", index=True),
    Column("address", String(64), nullable=False, default=""),
    _at(),
    _at("seen_at", optional=True),
    _at("expires_at"),
)
"""``address``: where it was begun; ``seen_at``: its last request, to the minute, None for one that had none yet."""

token = Table(
    "token",
    METADATA,
    _id(),
    _column("organisation", index=True),
    _column("account", index=True),
    Column("name", NAME, nullable=False),
    Column("prefix", String(16), nullable=False),
    Column("hash", DIGEST, nullable=False, unique=True),
    Column("permissions", JSON, nullable=False),
    _at(),
    _at("expires_at", optional=True),
    _at("revoked_at", optional=True),
    _at("used_at", optional=True),
)

sign_in_failure = Table(
    "sign_in_failure",
    METADATA,
    _id(),
    Column("name_hash", DIGEST, nullable=False),
    _at(),
    Index(None, "name_hash", "created_at"),
)

blob = Table(
    "blob",
    METADATA,
    _id(),
    _column("organisation"),
    Column("digest", DIGEST, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("kind", WORD, nullable=False),
    Column("sealed_key", LargeBinary, nullable=True),
    _column("account", "uploaded_by", optional=True),
    _at(),
    _at("expires_at", optional=True),
    _at("erased_at", optional=True),
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
    _at(),
)
"""Everybody who sent the bytes of a model, also bytes that were there already; of a file that a repair wrote, also
those who brought the file before it. Triggers refuse to change or delete a row."""

model = Table(
    "model",
    METADATA,
    _id(),
    _column("organisation"),
    Column("name", NAME, nullable=False),
    Column("description", Text, nullable=False, default=""),
    _column("account", "created_by"),
    _at(),
    UniqueConstraint("organisation_id", "name"),
)

model_version = Table(
    "model_version",
    METADATA,
    _id(),
    _column("organisation"),
    _column("model"),
    Column("n", Integer, nullable=False),
    _column("blob"),
    Column("digest", DIGEST, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("file_name", NAME, nullable=False),
    Column("state", WORD, nullable=False),
    Column("problem", Text, nullable=False, default=""),
    Column("format", WORD, nullable=False, default=""),
    Column("summary", JSON, nullable=True),
    _column("account", "uploaded_by"),
    _at(),
    UniqueConstraint("model_id", "n"),
    UniqueConstraint("id", "uploaded_by"),
)
"""``state``: reading, ready, refused; ``summary`` is what ``inspect`` says of the file."""

data_table = Table(
    "data_table",
    METADATA,
    _id(),
    _column("organisation"),
    Column("kind", WORD, nullable=False),
    _column("blob", optional=True),
    Column("path", Text, nullable=True),
    Column("file_name", NAME, nullable=False),
    Column("digest", DIGEST, nullable=False, default=""),
    Column("state", WORD, nullable=False),
    Column("problem", Text, nullable=False, default=""),
    Column("records", BigInteger, nullable=True),
    Column("columns", JSON, nullable=True),
    _column("account", "uploaded_by"),
    _at(),
    _at("expires_at"),
    _at("erased_at", optional=True),
    Index(None, "organisation_id", "created_at"),
)
"""A training table. ``kind``: upload, path; ``state``: reading, ready, refused, erased; ``columns``: their names and
kinds."""

table_share = Table(
    "table_share",
    METADATA,
    Column("data_table_id", ID, ForeignKey("data_table.id"), primary_key=True),
    Column("account_id", ID, ForeignKey("account.id"), primary_key=True),
    _column("organisation"),
    _at(),
    Index(None, "account_id"),
)
"""With whom the owner of a table shares it."""

pack = Table(
    "pack",
    METADATA,
    _id(),
    _column("organisation"),
    Column("name", NAME, nullable=False),
    _column("account", "created_by"),
    _at(),
    UniqueConstraint("organisation_id", "name"),
)

pack_version = Table(
    "pack_version",
    METADATA,
    _id(),
    _column("organisation"),
    _column("pack"),
    Column("n", Integer, nullable=False),
    Column("digest", DIGEST, nullable=False),
    Column("toml", Text, nullable=False),
    Column("note", Text, nullable=False, default=""),
    _column("account", "created_by"),
    _at(),
    UniqueConstraint("pack_id", "n"),
)

audit = Table(
    "audit",
    METADATA,
    _id(),
    _column("organisation"),
    Column("kind", WORD, nullable=False),
    _column("model_version", index=True),
    _column("data_table", optional=True, index=True),
    _column("pack_version", optional=True),
    Column("pack_name", NAME, nullable=False),
    Column("pack_digest", DIGEST, nullable=False),
    Column("options", JSON, nullable=False),
    Column("knowledge", Text, nullable=False, default=""),
    Column("waivers", JSON, nullable=False),
    Column("purpose", Text, nullable=False, default=""),
    _column("account", "created_by"),
    _at(),
    Column("state", WORD, nullable=False),
    Column("verdict", WORD, nullable=True),
    Column("exit_code", Integer, nullable=True),
    Column("headline", Text, nullable=False, default=""),
    Column("problem", Text, nullable=False, default=""),
    Column("entry", JSON, nullable=True),
    Column("provenance", JSON, nullable=True),
    Column("result_attempt", Integer, nullable=True),
    _column("model_version", "repaired_version_id", optional=True),
    Column("original_audit_id", ID, nullable=True, index=True),
    Column("keeps_table", Boolean, nullable=True),
    Column("tries_all", Boolean, nullable=True),
    Column("repair_summary", JSON, nullable=True),
    _at("finished_at", optional=True),
    Column("seal", DIGEST, nullable=True),
    CheckConstraint("(state = 'done') = (verdict IS NOT NULL)", name="verdict_when_done"),
    CheckConstraint(
        "verdict IS NULL OR verdict IN ('PASS', 'FAIL', 'UNDETERMINED')", name="a_verdict"
    ),
    UniqueConstraint("id", "model_version_id"),
    Index(None, "organisation_id", "created_at"),
    Index(None, "organisation_id", "id"),
    Index(None, "organisation_id", "state", "model_version_id", "id"),
    Index(None, "model_version_id", "id"),
)
"""An audit or a repair. ``state``: queued, running, done, error, cancelled. ``entry`` is what pipelines may see of it;
``waivers`` are the ids of those that were given along; ``result_attempt`` is the attempt that committed. A repair that
was asked for from an audit names that as ``original_audit_id``; ``repaired_version_id`` is the proposal of it that was
taken last, ``repair_summary`` what the search says of itself; ``tries_all``: whether it audits changes too that cost
more than one that passes. ``keeps_table``: whether the table stays for its hours where this does not pass.
``seal`` is a digest with a key that no database holds (``service/ledger/seals.py``), here and in the tables below."""

proposal = Table(
    "proposal",
    METADATA,
    _id(),
    _column("organisation"),
    _column("audit"),
    Column("n", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("remedies", JSON, nullable=False),
    Column("verdict", WORD, nullable=False),
    Column("is_recommended", Boolean, nullable=False),
    Column("cost", JSON, nullable=False),
    Column("failing", JSON, nullable=False),
    Column("problem", Text, nullable=False),
    Column("file_name", NAME, nullable=False, default=""),
    _column("blob", optional=True, index=True),
    _column("model_version", optional=True),
    UniqueConstraint("audit_id", "n"),
)
"""A change that a repair tried, best first. ``blob_id`` is the file that it makes, where it passes and is kept;
``model_version_id`` the version that it became, where somebody took it."""

job = Table(
    "job",
    METADATA,
    _id(),
    _column("organisation"),
    Column("kind", WORD, nullable=False),
    Column("subject_id", ID, nullable=False, index=True),
    Column("state", WORD, nullable=False),
    Column("attempt", Integer, nullable=False, default=0),
    Column("failures", Integer, nullable=False, default=0),
    Column("lease_until", Utc, nullable=True),
    Column("worker", NAME, nullable=True),
    Column("cancel_requested", Boolean, nullable=False, default=False),
    Column("problem", Text, nullable=False, default=""),
    _at(),
    _at("started_at", optional=True),
    _at("finished_at", optional=True),
    Index(None, "state", "created_at"),
    Index(None, "organisation_id", "state", "id"),
    Index(None, "organisation_id", "started_at"),
)
"""One piece of work. ``kind``: inspect_model, inspect_table, audit, repair, compare; ``subject_id`` is the id of the
model version, table, audit or comparison it is about; ``state`` as of an audit. ``attempt`` counts claims and fences
off whoever lost the lease; ``failures`` counts processes that died."""

job_event = Table(
    "job_event",
    METADATA,
    Column("job_id", ID, ForeignKey("job.id"), primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("attempt", Integer, nullable=False),
    Column("kind", WORD, nullable=False),
    Column("text", Text, nullable=False),
    _at("at"),
)
"""``kind``: queued, started, stage, retried, done, error, cancelled; ``text`` the stage in words."""

comparison = Table(
    "comparison",
    METADATA,
    _id(),
    _column("organisation"),
    _column("model"),
    _column("model_version", "from_version_id"),
    _column("model_version", "to_version_id"),
    Column("state", WORD, nullable=False),
    Column("problem", Text, nullable=False, default=""),
    Column("trees", JSON, nullable=True),
    _at(),
    UniqueConstraint("from_version_id", "to_version_id"),
)
"""What differs between the trees of two versions, found by a job, as both files are strangers'."""

finding = Table(
    "finding",
    METADATA,
    _id(),
    _column("organisation"),
    _column("audit"),
    Column("n", Integer, nullable=False),
    Column("result_id", Text, nullable=False),
    Column("clause", Text, nullable=False),
    Column("verdict", WORD, nullable=False),
    Column("severity", WORD, nullable=False),
    Column("message", Text, nullable=False),
    Column("leaf", Text, nullable=False, default=""),
    Column("path", Text, nullable=False, default=""),
    Column("accepted", JSON, nullable=True),
    UniqueConstraint("audit_id", "n"),
)

report = Table(
    "report",
    METADATA,
    _id(),
    _column("organisation"),
    _column("audit"),
    Column("kind", WORD, nullable=False),
    Column("form", WORD, nullable=False),
    _column("blob"),
    _at(),
    Column("seal", DIGEST, nullable=True),
    UniqueConstraint("audit_id", "kind", "form"),
)
"""``kind``: internal or public; a public one holds no profile, true value or small count."""

waiver = Table(
    "waiver",
    METADATA,
    _id(),
    _column("organisation"),
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
    _column("account", "requested_by"),
    _at("requested_at"),
    _column("account", "decided_by", optional=True),
    _at("decided_at", optional=True),
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
    _id(),
    _column("organisation"),
    Column("model_version_id", ID, nullable=False),
    Column("uploader_id", ID, nullable=False),
    Column("audit_id", ID, nullable=False),
    Column("title", NAME, nullable=False),
    Column("purpose", Text, nullable=False, default=""),
    Column("state", WORD, nullable=False),
    Column("checklist", JSON, nullable=False),
    _column("account", "opened_by"),
    _at("opened_at"),
    _at("decided_at", optional=True),
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
    _id(),
    _column("organisation"),
    Column("release_id", ID, nullable=False, index=True),
    Column("uploader_id", ID, nullable=False),
    Column("opened_by", ID, nullable=False),
    _column("account", "reviewer_id"),
    Column("decision", WORD, nullable=False),
    Column("comment", Text, nullable=False, default=""),
    _at("at"),
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
    _id(),
    _column("organisation"),
    _column("release", index=True),
    _column("account", "author_id"),
    Column("text", Text, nullable=False),
    _at("at"),
)

webhook = Table(
    "webhook",
    METADATA,
    _id(),
    _column("organisation", index=True),
    Column("url", Text, nullable=False),
    Column("sealed_secret", LargeBinary, nullable=False),
    Column("events", JSON, nullable=False),
    _column("account", "created_by"),
    _at(),
    _at("disabled_at", optional=True),
)

delivery = Table(
    "delivery",
    METADATA,
    _id(),
    _column("organisation"),
    _column("webhook", index=True),
    Column("event", WORD, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("state", WORD, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_at", Utc, nullable=True),
    Column("status_code", Integer, nullable=True),
    Column("problem", Text, nullable=False, default=""),
    _at(),
    _at("delivered_at", optional=True),
    Index(None, "state", "next_at"),
)
"""``state``: pending, done, failed."""

mail = Table(
    "mail",
    METADATA,
    _id(),
    _column("organisation"),
    _column("account", index=True),
    Column("event", WORD, nullable=False),
    Column("path", Text, nullable=False),
    Column("state", WORD, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_at", Utc, nullable=True),
    Column("problem", Text, nullable=False, default=""),
    _at(),
    _at("delivered_at", optional=True),
    Index(None, "state", "next_at"),
)
"""A notice to somebody: what happened, and the ``path`` of the page that tells more; ``state`` as of a delivery."""

log_entry = Table(
    "log_entry",
    METADATA,
    Column("organisation_id", ID, ForeignKey("organisation.id"), primary_key=True),
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    _at("at"),
    Column("actor_id", ID, nullable=True),
    Column("actor", NAME, nullable=False),
    Column("action", WORD, nullable=False),
    Column("object_kind", WORD, nullable=False),
    Column("object_id", ID, nullable=False),
    Column("detail", JSON, nullable=False),
    Column("previous_hash", DIGEST, nullable=False),
    Column("hash", DIGEST, nullable=False),
    Index(None, "organisation_id", "object_id"),
)
"""What was done, each row with the digest of the one before; triggers refuse to change or delete one."""

log_head = Table(
    "log_head",
    METADATA,
    Column("organisation_id", ID, ForeignKey("organisation.id"), primary_key=True),
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), nullable=False),
    Column("hash", DIGEST, nullable=False),
    Column("seal", DIGEST, nullable=False),
)
"""The last row of each log, sealed: a log that was written anew, or whose end was cut off, ends with another."""

idempotency = Table(
    "idempotency",
    METADATA,
    Column("organisation_id", ID, primary_key=True),
    Column("account_id", ID, primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("request_hash", DIGEST, nullable=False),
    Column("status", Integer, nullable=True),
    Column("headers", JSON, nullable=True),
    Column("body", LargeBinary, nullable=True),
    _at(),
)

worker = Table(
    "worker",
    METADATA,
    _id(),
    Column("name", NAME, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("version", WORD, nullable=False),
    _at("started_at"),
    _at("seen_at"),
)
