"""Tables of the service's database: audits and what they found, messages, the log, and workers.

Column types, names of constraints and moments in UTC, which all tables use, are defined here too.
"""

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
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.engine.default import DefaultExecutionContext

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


def id_column() -> Column[str]:
    """Return the column that names a row."""
    return Column("id", ID, primary_key=True)


def reference_column(
    table: str, name: str = "", *, optional: bool = False, index: bool = False
) -> Column[str]:
    """Return a column that names a row of another table."""
    key = ForeignKey(f"{table}.id")
    return Column(name or f"{table}_id", ID, key, nullable=optional, index=index)


def moment_column(name: str = "created_at", *, optional: bool = False) -> Column[datetime]:
    """Return a column with a moment in it."""
    return Column(name, Utc, nullable=optional)


def key_column(name: str, key_of: Callable[[str], str]) -> Column[str]:
    """Return a column that is computed from the name in the same row."""

    def computed(context: DefaultExecutionContext) -> str:
        row = context.get_current_parameters()  # type: ignore[no-untyped-call]  # as SQLAlchemy has it
        return key_of(row["name"])

    return Column(name, DIGEST, nullable=False, default=computed)


audit = Table(
    "audit",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("kind", WORD, nullable=False),
    reference_column("model_version", index=True),
    reference_column("data_table", optional=True, index=True),
    reference_column("data_table", "register_id", optional=True, index=True),
    reference_column("pack_version", optional=True),
    Column("pack_name", NAME, nullable=False),
    Column("pack_digest", DIGEST, nullable=False),
    Column("options", JSON, nullable=False),
    Column("knowledge", Text, nullable=False, default=""),
    Column("domain", Text, nullable=False, default="", server_default=""),
    Column("waivers", JSON, nullable=False),
    Column("purpose", Text, nullable=False, default=""),
    reference_column("account", "created_by"),
    moment_column(),
    Column("state", WORD, nullable=False),
    Column("verdict", WORD, nullable=True),
    Column("exit_code", Integer, nullable=True),
    Column("headline", Text, nullable=False, default=""),
    Column("problem", Text, nullable=False, default=""),
    Column("entry", JSON, nullable=True),
    Column("provenance", JSON, nullable=True),
    Column("result_attempt", Integer, nullable=True),
    reference_column("model_version", "repaired_version_id", optional=True),
    Column("original_audit_id", ID, nullable=True, index=True),
    Column("keeps_table", Boolean, nullable=True),
    Column("tries_all", Boolean, nullable=True),
    Column("repair_summary", JSON, nullable=True),
    moment_column("finished_at", optional=True),
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
more than one that passes. ``register_id`` is the table of everybody who may be in the training table, erased as that
one is. ``keeps_table``: whether the table stays for its hours where this does not pass.
``seal`` is a digest with a key that no database holds (``service/ledger/log.py``), here and in the tables below."""

audit_file = Table(
    "audit_file",
    METADATA,
    Column("audit_id", ID, ForeignKey("audit.id"), primary_key=True),
    Column("n", Integer, primary_key=True),
    reference_column("organisation"),
    reference_column("data_table", index=True),
)
"""The further files of an audit, in their order: its outputs, and its dictionary; erased as its table is."""

proposal = Table(
    "proposal",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("audit"),
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
    reference_column("blob", optional=True, index=True),
    reference_column("model_version", optional=True),
    UniqueConstraint("audit_id", "n"),
)
"""A change that a repair tried, best first. ``blob_id`` is the file that it makes, where it passes and is kept;
``model_version_id`` the version that it became, where somebody took it."""

job = Table(
    "job",
    METADATA,
    id_column(),
    reference_column("organisation"),
    Column("kind", WORD, nullable=False),
    Column("subject_id", ID, nullable=False, index=True),
    Column("state", WORD, nullable=False),
    Column("attempt", Integer, nullable=False, default=0),
    Column("failures", Integer, nullable=False, default=0),
    Column("lease_until", Utc, nullable=True),
    Column("worker", NAME, nullable=True),
    Column("cancel_requested", Boolean, nullable=False, default=False),
    Column("problem", Text, nullable=False, default=""),
    moment_column(),
    moment_column("started_at", optional=True),
    moment_column("finished_at", optional=True),
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
    moment_column("at"),
)
"""``kind``: queued, started, stage, retried, done, error, cancelled; ``text`` the stage in words."""

comparison = Table(
    "comparison",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("model"),
    reference_column("model_version", "from_version_id"),
    reference_column("model_version", "to_version_id"),
    Column("state", WORD, nullable=False),
    Column("problem", Text, nullable=False, default=""),
    Column("trees", JSON, nullable=True),
    moment_column(),
    UniqueConstraint("from_version_id", "to_version_id"),
)
"""What differs between the trees of two versions, found by a job, as both files are strangers'."""

finding = Table(
    "finding",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("audit"),
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
    id_column(),
    reference_column("organisation"),
    reference_column("audit"),
    Column("kind", WORD, nullable=False),
    Column("form", WORD, nullable=False),
    reference_column("blob"),
    moment_column(),
    Column("seal", DIGEST, nullable=True),
    UniqueConstraint("audit_id", "kind", "form"),
)
"""``kind``: internal or public; a public one holds no profile, true value or small count."""

webhook = Table(
    "webhook",
    METADATA,
    id_column(),
    reference_column("organisation", index=True),
    Column("url", Text, nullable=False),
    Column("sealed_secret", LargeBinary, nullable=False),
    Column("events", JSON, nullable=False),
    reference_column("account", "created_by"),
    moment_column(),
    moment_column("disabled_at", optional=True),
)

delivery = Table(
    "delivery",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("webhook", index=True),
    Column("event", WORD, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("state", WORD, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_at", Utc, nullable=True),
    Column("status_code", Integer, nullable=True),
    Column("problem", Text, nullable=False, default=""),
    moment_column(),
    moment_column("delivered_at", optional=True),
    Index(None, "state", "next_at"),
)
"""``state``: pending, done, failed."""

mail = Table(
    "mail",
    METADATA,
    id_column(),
    reference_column("organisation"),
    reference_column("account", index=True),
    Column("event", WORD, nullable=False),
    Column("path", Text, nullable=False),
    Column("state", WORD, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_at", Utc, nullable=True),
    Column("problem", Text, nullable=False, default=""),
    moment_column(),
    moment_column("delivered_at", optional=True),
    Index(None, "state", "next_at"),
)
"""A notice to somebody: what happened, and the ``path`` of the page that tells more; ``state`` as of a delivery."""

log_entry = Table(
    "log_entry",
    METADATA,
    Column("organisation_id", ID, ForeignKey("organisation.id"), primary_key=True),
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    moment_column("at"),
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
    moment_column(),
)

worker = Table(
    "worker",
    METADATA,
    id_column(),
    Column("name", NAME, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("version", WORD, nullable=False),
    moment_column("started_at"),
    moment_column("seen_at"),
)

SCHEMA = METADATA
"""All tables together, with those that these refer to."""
