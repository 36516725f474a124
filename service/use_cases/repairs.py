"""Repairs that follow from an audit: asked for with the same question, looked at, and one of their proposals taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, update

from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import audit, audit_file, proposal
from treewarden.service.database.tables import blob, data_table, model, model_version
from treewarden.service.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    ServiceError,
    new_id,
)
from treewarden.service.ledger.log import record
from treewarden.service.schemas.audits import (
    Audit,
    NewAudit,
    NewRepair,
    Proposal,
    Proposals,
    Repairs,
    Taken,
    Taking,
)
from treewarden.service.schemas.models import NewTable, NewVersion
from treewarden.service.site import Unit
from treewarden.service.use_cases.audits import get_audit, submit
from treewarden.service.use_cases.blobs import check_waiting
from treewarden.service.use_cases.jobs import queue_job
from treewarden.service.use_cases.models import add_version
from treewarden.service.use_cases.requested_files import add_files
from treewarden.service.use_cases.retention import locked_table, tables_of_audit
from treewarden.service.use_cases.show_audit import all_shown, audits_of
from treewarden.service.use_cases.tables import add_table, claim_table, get_table

LIVE = ("queued", "running")
SAME = (
    "model_version_id",
    "pack_version_id",
    "pack_name",
    "pack_digest",
    "options",
    "knowledge",
    "domain",
    "purpose",
    "keeps_table",
)
"""What a repair asks as its audit did."""
OF_A_REPAIR = (
    "is a repair already; choose one of its proposals, or repair the audit of "
    "the version that was made from it"
)
NO_VERDICT = (
    "has no verdict yet, so it is not known what to repair; wait for it, or submit the audit again"
)
PASSES = "passes already, so there is nothing to repair"
NO_TABLE = "was made without a table, but a repair needs one; submit an audit with the table first"
ERASED = "its table was erased after the audit; upload the same table again"
ANOTHER = "is not the table of the audit; upload that table, or submit a separate repair"
WITH_REGISTER = (
    "was made with a register, which a repair needs too; submit a separate "
    "repair with table and register"
)
OF_OTHERS = (
    "its table belongs to another person; ask that person to share it, or upload it yourself"
)
WITH_OUTPUTS = (
    "was made with outputs that are published with the model, which are erased; submit a separate "
    "repair with the table and the outputs"
)
AT_IT = "is being repaired already; wait for that repair, or cancel it"
TABLE_AGAIN = "its table is erased; upload it again to audit this version"


@dataclass(frozen=True, slots=True)
class RepairedFile:
    """The file that a proposal makes: what it is called, and its bytes as they are unsealed."""

    name: str
    chunks: Iterator[bytes]


def list_repairs(unit: Unit, principal: Principal, audit_id: str) -> Repairs:
    """Return the repairs of an audit, and whether one can be asked for.

    Raises:
        NotFoundError: the organisation has no such audit.
    """
    found = _row(unit, principal, audit_id)
    its = select(audit.c.id).where(audit.c.original_audit_id == audit_id)
    # their ids come first: asked for all at once, SQLite goes through every audit of the organisation
    ids = unit.connection.execute(its).scalars().all()
    wanted = audits_of(principal).where(audit.c.id.in_(ids)).order_by(audit.c.id.desc())
    rows = unit.connection.execute(wanted).all() if ids else []
    why, needs_table = _why_not(unit, found), False
    if not why:
        why, needs_table = _why_no_table(unit, principal, found)
    return Repairs(
        can_start=not why,
        needs_table=needs_table,
        why_not=why,
        items=all_shown(unit, principal, rows),
    )


def start_repair(unit: Unit, principal: Principal, audit_id: str, new: NewRepair) -> Audit:
    """Queue a search for a change that passes, with all that an audit was asked but its waivers.

    What is accepted of the model as it is says nothing about a changed one, so a proposal passes without any.

    Raises:
        NotFoundError: the organisation has no such audit or table.
        ForbiddenError: the table is not for who asks.
        ConflictError: nothing is to be repaired, one is being looked for, or the table is erased or another one.
        TooManyError: the organisation has as many jobs waiting as it may.
    """
    check_waiting(unit, principal)
    found = _locked(
        unit, principal, audit_id
    )  # so that of two who ask at once, one hears of the other
    why = _why_not(unit, found)
    if why:
        raise ConflictError("audit", why)
    table_id = new.table_id or found.data_table_id
    if new.table_id is None and _is_erased(unit, table_id):
        raise ConflictError("table", ERASED)
    files = _kept_files(unit, audit_id)
    # Rows of one kind are locked in the order of their ids: else two could wait for each other.
    claimed = {each: claim_table(unit, principal, each) for each in sorted({table_id, *files})}
    table = claimed[table_id]
    if table.digest and table.digest != _digest(unit, found.data_table_id):
        raise ConflictError("table", ANOTHER)
    made = new_id()
    unit.connection.execute(
        insert(audit).values(
            {name: found._mapping[name] for name in SAME}
            | {
                "id": made,
                "organisation_id": principal.organisation_id,
                "kind": "repair",
                "original_audit_id": audit_id,
                "data_table_id": table_id,
                "tries_all": new.tries_all,
                "waivers": [],
                "created_by": principal.account_id,
                "created_at": unit.now,
                "state": "queued",
            }
        )
    )
    add_files(unit, principal, made, tuple(files))
    queue_job(unit, principal.organisation_id, "repair", made)
    record(unit, principal, "repair.submitted", "audit", made, {"audit": audit_id})
    return get_audit(unit, principal, made)


def start_repair_with(
    unit: Unit, principal: Principal, audit_id: str, table: NewTable, *, tries_all: bool
) -> Audit:
    """Take a table once more, and queue a repair with it.

    Raises:
        NotFoundError: the organisation has no such audit or upload.
        InvalidError: the path leads to no file that may be read.
        ConflictError: nothing is to be repaired, one is being looked for, or the table is another one.
    """
    _locked(
        unit, principal, audit_id
    )  # before a table is logged: rows are always locked before the log
    new = NewRepair(table_id=add_table(unit, principal, table).id, tries_all=tries_all)
    return start_repair(unit, principal, audit_id, new)


def list_proposals(unit: Unit, principal: Principal, repair_id: str) -> Proposals:
    """Return what a repair tried, best first; an audit has none.

    Raises:
        NotFoundError: the organisation has no such repair.
    """
    found = _row(unit, principal, repair_id)
    is_internal = principal.may(Permission.INTERNAL)
    rows = unit.connection.execute(
        select(proposal, blob.c.sealed_key.is_not(None).label("is_kept"))
        .outerjoin(blob, blob.c.id == proposal.c.blob_id)
        .where(proposal.c.audit_id == repair_id)
        .order_by(proposal.c.n)
    )
    summary = (found.repair_summary or {}) if is_internal else {}
    return Proposals(**summary, items=tuple(_proposal(row, is_internal) for row in rows))


def proposal_file(unit: Unit, principal: Principal, repair_id: str, n: int) -> RepairedFile:
    """Return the file that a proposal makes.

    Raises:
        NotFoundError: there is no such proposal, it has no file, or that was erased.
    """
    _row(unit, principal, repair_id)
    found = _kept_proposal(unit, repair_id, n)
    chunks = unit.site.vault.chunks(found.blob_id, found.digest, found.sealed_key)
    return RepairedFile(found.file_name, chunks)


def take_proposal(
    unit: Unit, principal: Principal, repair_id: str, n: int, taking: Taking
) -> Taken:
    """Make the file of a proposal the newest version of the model, and have it audited where its table is there.

    Raises:
        NotFoundError: there is no such proposal, it has no file, or that was erased.
        ConflictError: it was taken already, or the newest version is the same file.
    """
    # Rows are locked before the log is, as everybody does, the model's first: else two could wait for each other.
    found = _locked(unit, principal, repair_id)
    of_model = unit.connection.execute(
        select(model_version.c.model_id).where(model_version.c.id == found.model_version_id)
    ).scalar_one()
    unit.connection.execute(select(model.c.id).where(model.c.id == of_model).with_for_update())
    tables = tables_of_audit(unit, repair_id)
    for table_id in tables:
        locked_table(unit, table_id)
    kept = _kept_proposal(unit, repair_id, n, is_locked=True)
    if kept.model_version_id is not None:
        raise ConflictError("proposal", "was made a version already; audit that version")
    new = NewVersion(digest=kept.digest, file_name=kept.file_name)
    version = add_version(unit, principal, of_model, new)
    unit.connection.execute(
        update(proposal).where(proposal.c.id == kept.id).values(model_version_id=version.id)
    )
    unit.connection.execute(
        update(audit).where(audit.c.id == repair_id).values(repaired_version_id=version.id)
    )
    record(
        unit, principal, "repair.taken", "audit", repair_id, {"version": version.id, "proposal": n}
    )
    if not taking.audits:
        return Taken(version=version)
    if found.data_table_id is None or any(_is_erased(unit, each) for each in tables):
        return Taken(version=version, why_no_audit=TABLE_AGAIN)
    try:
        made = submit(unit, principal, _same_question(unit, found, version.id))
    except (NotFoundError, ForbiddenError, ConflictError) as error:
        return Taken(version=version, why_no_audit=str(error))
    return Taken(version=version, audit=made)


def _kept_files(unit: Unit, audit_id: str) -> dict[str, str]:
    """Return the further files of an audit that are not erased, in their order, and what each holds."""
    rows = unit.connection.execute(
        select(data_table.c.id, data_table.c.holds)
        .join(audit_file, audit_file.c.data_table_id == data_table.c.id)
        .where(audit_file.c.audit_id == audit_id, data_table.c.erased_at.is_(None))
        .order_by(audit_file.c.n)
    )
    return {row.id: row.holds for row in rows}


def _lacks_outputs(unit: Unit, audit_id: str) -> bool:
    """Return whether an output that an audit was made with is erased."""
    erased = (
        select(data_table.c.id)
        .join(audit_file, audit_file.c.data_table_id == data_table.c.id)
        .where(
            audit_file.c.audit_id == audit_id,
            data_table.c.holds == "output",
            data_table.c.erased_at.is_not(None),
        )
    )
    return unit.connection.execute(erased).first() is not None


def _same_question(unit: Unit, row: Row[Any], version_id: str) -> NewAudit:
    files = _kept_files(unit, row.id)
    dictionary = next((each for each, holds in files.items() if holds == "dictionary"), None)
    return NewAudit(
        model_version_id=version_id,
        table_id=row.data_table_id,
        register_id=row.register_id,
        output_ids=tuple(each for each, holds in files.items() if holds == "output"),
        dictionary_id=dictionary,
        pack=row.pack_name,
        options=row.options,
        knowledge=row.knowledge,
        domain=row.domain,
        purpose=row.purpose,
        keeps_table=bool(row.keeps_table),
    )


def _why_not(unit: Unit, row: Row[Any]) -> str:
    """Return why an audit cannot be repaired, whoever asks and with whatever table; "" where it can."""
    if row.kind != "audit":
        return OF_A_REPAIR
    if row.verdict is None:
        return NO_VERDICT
    if row.verdict == "PASS":
        return PASSES
    if row.data_table_id is None:
        return NO_TABLE
    if row.register_id is not None:
        return WITH_REGISTER
    if _lacks_outputs(unit, row.id):
        return WITH_OUTPUTS
    at_it = select(audit.c.id).where(audit.c.original_audit_id == row.id, audit.c.state.in_(LIVE))
    return AT_IT if unit.connection.execute(at_it).first() is not None else ""


def _why_no_table(unit: Unit, principal: Principal, row: Row[Any]) -> tuple[str, bool]:
    """Return why the table of an audit is not there for a repair, and whether uploading it once more helps."""
    if _is_erased(unit, row.data_table_id):
        return ERASED, True
    try:
        get_table(unit, principal, row.data_table_id)
    except ServiceError:
        return OF_OTHERS, True
    return "", False


def _is_erased(unit: Unit, table_id: str) -> bool:
    erased_at = select(data_table.c.erased_at).where(data_table.c.id == table_id)
    return unit.connection.execute(erased_at).scalar_one_or_none() is not None


def _digest(unit: Unit, table_id: str) -> str:
    found = select(data_table.c.digest).where(data_table.c.id == table_id)
    return str(unit.connection.execute(found).scalar_one())


def _locked(unit: Unit, principal: Principal, audit_id: str) -> Row[Any]:
    """Return the row of an audit, locked until the transaction ends."""
    _row(unit, principal, audit_id)
    return unit.connection.execute(
        select(audit).where(audit.c.id == audit_id).with_for_update()
    ).one()


def _row(unit: Unit, principal: Principal, audit_id: str) -> Row[Any]:
    found = unit.connection.execute(
        select(audit).where(
            audit.c.id == audit_id, audit.c.organisation_id == principal.organisation_id
        )
    ).first()
    if found is None:
        raise NotFoundError(f"audit {audit_id[:40]!r}", "nothing here has this id; check the id")
    return found


def _kept_proposal(unit: Unit, repair_id: str, n: int, *, is_locked: bool = False) -> Row[Any]:
    """Return a proposal with the keys of its file.

    Raises:
        NotFoundError: there is none of that number, it has no file, or that was erased.
    """
    statement = (
        select(proposal, blob.c.digest, blob.c.sealed_key)
        .outerjoin(blob, blob.c.id == proposal.c.blob_id)
        .where(proposal.c.audit_id == repair_id, proposal.c.n == n)
    )
    if is_locked:
        statement = statement.with_for_update(of=proposal)
    found = unit.connection.execute(statement).first()
    if found is None:
        raise NotFoundError(f"proposal {n}", "no proposal has this number; see the proposals")
    if found.blob_id is None:
        problem = (
            "has no file, because files are written only for the five cheapest changes that pass"
        )
        raise NotFoundError(f"proposal {n}", f"{problem}; choose a proposal with a file")
    if found.sealed_key is None:
        raise NotFoundError(f"proposal {n}", "its file was erased; start the repair again")
    return found


def _proposal(row: Row[Any], is_internal: bool) -> Proposal:
    path = f"/api/v1/audits/{row.audit_id}/proposals/{row.n}/file"
    return Proposal(
        n=row.n,
        name=row.name,
        title=row.title if is_internal else "",
        remedies=tuple(row.remedies),
        verdict=row.verdict,
        is_recommended=row.is_recommended,
        cost=row.cost if is_internal else {},
        failing=tuple(row.failing),
        problem=row.problem if is_internal else "",
        href=path if row.is_kept else None,
        model_version_id=row.model_version_id,
    )
