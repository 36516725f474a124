"""From a claimed job to what its process is asked: read in one transaction, keys unsealed last."""

from __future__ import annotations

from importlib import resources
from typing import Any

from sqlalchemy import Row, select

from treewarden.service.database.run_tables import audit, comparison
from treewarden.service.database.tables import (
    blob,
    data_table,
    model,
    model_version,
    organisation,
    pack_version,
)
from treewarden.service.errors import ConflictError
from treewarden.service.site import Unit
from treewarden.service.use_cases.tables import roots_of
from treewarden.service.use_cases.waivers import waivers_of
from treewarden.service.worker.leases import JobClaim
from treewarden.service.worker.orders import JobOrder, PlainFile, SealedFile, SearchLimits

SEARCH_SHARE = 0.8
"""Part of the time of a job after which a repair ends its search, so that what it has found is not lost with it."""
ANOTHER = (
    "is not the table that the audit was made with; name that one, or submit a repair of its own"
)
GONE = "was erased before the audit began; upload it again and submit a new audit"


def order_of(unit: Unit, of: JobClaim) -> JobOrder:
    """Return what the process of a job is asked.

    Raises:
        ConflictError: something that it needs was erased.
        UnavailableError: a key cannot be unsealed.
    """
    return ORDERS[of.kind](unit, of.subject_id)


def _inspect_model(unit: Unit, version_id: str) -> JobOrder:
    return JobOrder(kind="inspect_model", model=_version(unit, version_id))


def _inspect_table(unit: Unit, table_id: str) -> JobOrder:
    return JobOrder(kind="inspect_table", table=_table(unit, table_id))


def _compare(unit: Unit, comparison_id: str) -> JobOrder:
    found = unit.connection.execute(
        select(comparison).where(comparison.c.id == comparison_id)
    ).one()
    return JobOrder(
        kind="compare",
        model=_version(unit, found.from_version_id),
        other=_version(unit, found.to_version_id),
    )


def _audit(unit: Unit, audit_id: str) -> JobOrder:
    found = unit.connection.execute(
        select(audit, model.c.name.label("model_name"), organisation.c.keeps_profiles)
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .join(organisation, organisation.c.id == audit.c.organisation_id)
        .where(audit.c.id == audit_id)
    ).one()
    _check_same_table(unit, found)
    return JobOrder(
        kind=found.kind,
        model=_version(unit, found.model_version_id),
        table=None if found.data_table_id is None else _table(unit, found.data_table_id),
        candidates=None if found.register_id is None else _table(unit, found.register_id),
        model_name=found.model_name,
        pack=_pack(unit, found),
        pack_name=found.pack_name,
        knowledge=found.knowledge,
        waivers=waivers_of(unit, found.waivers).decode() if found.waivers else "",
        options=found.options,
        purpose=found.purpose,
        today=unit.now.date().isoformat(),
        is_internal=found.keeps_profiles,
        limits=SearchLimits(
            seconds=unit.site.settings.child_seconds * SEARCH_SHARE,
            tries_all=bool(found.tries_all),
        ),
    )


def _check_same_table(unit: Unit, found: Row[Any]) -> None:
    """Refuse a repair of an audit with another table: what it says would be of other people."""
    if found.original_audit_id is None or found.data_table_id is None:
        return
    rows = unit.connection.execute(
        select(data_table.c.digest, data_table.c.file_name, audit.c.id)
        .join(audit, audit.c.data_table_id == data_table.c.id)
        .where(audit.c.id.in_((found.original_audit_id, found.id)))
    ).all()
    if len({row.digest for row in rows}) > 1:
        name = next(row.file_name for row in rows if row.id == found.id)
        raise ConflictError(name, ANOTHER)


def _version(unit: Unit, version_id: str) -> SealedFile:
    found = unit.connection.execute(
        select(
            blob,
            model_version.c.file_name,
            model_version.c.state.label("version_state"),
            model_version.c.problem,
        )
        .join(blob, blob.c.id == model_version.c.blob_id)
        .where(model_version.c.id == version_id)
    ).one()
    if found.version_state == "refused":
        raise ConflictError(found.file_name, f"cannot be read: {found.problem}")
    return _sealed(unit, found, found.file_name)


def _table(unit: Unit, table_id: str) -> SealedFile | PlainFile:
    found = unit.connection.execute(select(data_table).where(data_table.c.id == table_id)).one()
    settings = unit.site.settings
    if found.erased_at is not None:
        raise ConflictError(found.file_name, GONE)
    if found.state == "refused":
        raise ConflictError(found.file_name, f"cannot be read: {found.problem}")
    if found.kind == "path":
        return PlainFile(
            path=found.path,
            roots=roots_of(unit, found.organisation_id),
            most=settings.max_table,
            name=found.file_name,
            digest=found.digest,
        )
    kept = unit.connection.execute(select(blob).where(blob.c.id == found.blob_id)).one()
    return _sealed(unit, kept, found.file_name)


def _sealed(unit: Unit, found: Row[Any], name: str) -> SealedFile:
    if found.sealed_key is None:
        raise ConflictError(name, GONE)
    return SealedFile(
        blob_id=found.id,
        key=unit.site.vault.unseal(found.sealed_key).hex(),
        name=name,
        digest=found.digest,
    )


def _pack(unit: Unit, found: Row[Any]) -> str:
    if found.pack_version_id is None:
        file = resources.files("treewarden.policies") / "packs" / f"{found.pack_name}.toml"
        return file.read_text("utf-8")
    return str(
        unit.connection.execute(
            select(pack_version.c.toml).where(pack_version.c.id == found.pack_version_id)
        ).scalar_one()
    )


ORDERS = {
    "inspect_model": _inspect_model,
    "inspect_table": _inspect_table,
    "compare": _compare,
    "audit": _audit,
    "repair": _audit,
}
