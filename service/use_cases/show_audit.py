"""An audit as it is shown, alone or beside another: verdict, checks, and the reports that a person may read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, Select, and_, case, func, select

from treewarden.reports.document import parts
from treewarden.reports.document.document import Document
from treewarden.reports.document.packing import UnreadableReportError, read_document
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.run_tables import audit, audit_file, finding, job, report
from treewarden.service.database.tables import account, blob, data_table, model, model_version
from treewarden.service.errors import ConflictError, InvalidError, NotFoundError
from treewarden.service.schemas.audits import (
    Audit,
    AuditComparison,
    ClauseChange,
    Finding,
    ReadingChange,
    ReportOf,
)
from treewarden.service.schemas.models import Difference
from treewarden.service.site import Unit

NO_REPORTS = (
    "the reports of the two audits are not stored, so checks and metrics cannot "
    "be compared; audit again to compare them"
)
UNSHOWN = frozenset((audit.c.entry, audit.c.knowledge, audit.c.domain))
"""Columns that may be large, and that no list shows."""
ENDED = ("done", "error", "cancelled")


def audits_of(principal: Principal) -> Select[Any]:
    """Return what selects the audits of an organisation, with all that is shown of each."""
    return _every().where(audit.c.organisation_id == principal.organisation_id)


@cache
def _every() -> Select[Any]:
    """Return what selects all audits; put together once, as that takes longer than many a query."""
    number = (
        select(func.count())
        .select_from(finding)
        .where(finding.c.audit_id == audit.c.id)
        .scalar_subquery()
    )
    return (
        select(
            *(column for column in audit.c if column not in UNSHOWN),
            model_version.c.n,
            model_version.c.model_id,
            model.c.name.label("model_name"),
            account.c.name.label("by"),
            data_table.c.file_name.label("table_name"),
            data_table.c.erased_at.label("table_erased_at"),
            number.label("findings"),
            shown_state().label("shown_state"),
        )
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .join(account, account.c.id == audit.c.created_by)
        .outerjoin(data_table, data_table.c.id == audit.c.data_table_id)
    )


@cache
def shown_state() -> ColumnElement[str]:
    """Return the state of an audit as it is shown: one that waits is running while a worker does its newest job."""
    newest = (
        select(job.c.state)
        .where(job.c.subject_id == audit.c.id)
        .order_by(job.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    is_running = and_(audit.c.state.not_in(ENDED), newest == "running")
    return case((is_running, "running"), else_=audit.c.state)


def show_audit(unit: Unit, principal: Principal, row: Row[Any]) -> Audit:
    """Return an audit as it is shown to somebody."""
    return all_shown(unit, principal, [row])[0]


def all_shown(unit: Unit, principal: Principal, rows: Sequence[Row[Any]]) -> tuple[Audit, ...]:
    """Return audits as they are shown to somebody; their reports are looked up once."""
    reports = _reports(unit, principal, [row.id for row in rows if row.state == "done"])
    files = _further_files(unit, [row.id for row in rows])
    return tuple(_audit_body(principal, row, tuple(reports[row.id]), files[row.id]) for row in rows)


def _further_files(unit: Unit, audit_ids: Sequence[str]) -> defaultdict[str, list[Any]]:
    """Return the further files of audits, in their order: rows of ``id``, ``file_name`` and ``holds``."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in unit.connection.execute(
        select(audit_file.c.audit_id, data_table.c.id, data_table.c.file_name, data_table.c.holds)
        .join(data_table, data_table.c.id == audit_file.c.data_table_id)
        .where(audit_file.c.audit_id.in_(audit_ids))
        .order_by(audit_file.c.audit_id, audit_file.c.n)
    ):
        found[row.audit_id].append(row)
    return found


def _audit_body(
    principal: Principal, row: Row[Any], reports: tuple[ReportOf, ...], files: Sequence[Row[Any]]
) -> Audit:
    outputs = [file for file in files if file.holds == "output"]
    return Audit(
        id=row.id,
        kind=row.kind,
        state=row.shown_state,
        verdict=row.verdict,
        exit_code=row.exit_code,
        headline=row.headline,
        problem=row.problem,
        model_id=row.model_id,
        model_name=row.model_name,
        model_version_id=row.model_version_id,
        version=row.n,
        table_id=row.data_table_id,
        table_name=row.table_name or "",
        table_erased_at=row.table_erased_at,
        register_id=row.register_id,
        output_ids=tuple(output.id for output in outputs),
        output_names=tuple(output.file_name for output in outputs),
        dictionary_id=next((file.id for file in files if file.holds == "dictionary"), None),
        pack=row.pack_name,
        pack_digest=row.pack_digest,
        options=row.options,
        purpose=row.purpose,
        findings=row.findings,
        reports=reports,
        provenance=_provenance(principal, row.provenance),
        repaired_version_id=row.repaired_version_id,
        original_audit_id=row.original_audit_id,
        keeps_table=bool(row.keeps_table),
        created_by=row.by,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _provenance(principal: Principal, provenance: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the provenance without digests of people's data for who may see no full report: they confirm a guess."""
    if provenance is None or principal.may(Permission.INTERNAL):
        return provenance
    tables = {name: provenance[name] for name in ("table", "candidates") if provenance.get(name)}
    outputs = [{**output, "sha256": ""} for output in provenance.get("outputs", ())]
    hidden = {name: {**table, "sha256": ""} for name, table in tables.items()}
    return provenance | hidden | ({"outputs": outputs} if outputs else {})


def _reports(
    unit: Unit, principal: Principal, audit_ids: Sequence[str]
) -> defaultdict[str, list[ReportOf]]:
    found: defaultdict[str, list[ReportOf]] = defaultdict(list)
    if not audit_ids:
        return found
    rows = unit.connection.execute(
        select(report.c.audit_id, report.c.kind, report.c.form)
        .where(report.c.audit_id.in_(audit_ids))
        .order_by(report.c.kind.desc(), report.c.form)
    )
    for audit_id, kind, form in rows:
        if kind == "public" or principal.may(Permission.INTERNAL):
            href = f"/api/v1/audits/{audit_id}/reports/{kind}.{form}"
            found[audit_id].append(ReportOf(kind=kind, form=form, href=href))
    return found


def finding_shown(row: Row[Any]) -> Finding:
    """Return a finding as it is shown."""
    return Finding(
        n=row.n,
        id=row.result_id,
        clause=row.clause,
        verdict=row.verdict,
        severity=row.severity,
        message=row.message,
        leaf=row.leaf,
        path=row.path,
        accepted=row.accepted,
    )


# The documents of audits as they are kept: the full one for who may see it, else the one without small counts.

Kind = Literal["internal", "public"]


def kinds_for(principal: Principal) -> tuple[Kind, ...]:
    """Return the kinds of reports that somebody may see, the one that tells most first."""
    return ("internal", "public") if principal.may(Permission.INTERNAL) else ("public",)


def kept_document(unit: Unit, audit_id: str, kind: Kind) -> Document | None:
    """Return the document of an audit of somebody's own organisation; None where none is kept that can be read.

    Raises:
        UnavailableError: the vault cannot be read.
    """
    found = unit.connection.execute(
        select(blob)
        .join(report, report.c.blob_id == blob.c.id)
        .where(report.c.audit_id == audit_id, report.c.kind == kind, report.c.form == "json")
    ).first()
    if found is None or found.sealed_key is None:
        return None
    try:
        return read_document(unit.site.vault.read(found.id, found.digest, found.sealed_key))
    except UnreadableReportError:  # of a version whose documents held something else
        return None


def compare_audits(unit: Unit, principal: Principal, from_id: str, to_id: str) -> AuditComparison:
    """Return what differs between two audits of an organisation; readings only from full reports of both.

    Raises:
        NotFoundError: the organisation has no such audits.
        InvalidError: both are the same.
        ConflictError: one has no verdict, or is a repair.
    """
    old, new = (_audited(unit, principal, each) for each in (from_id, to_id))
    if old.id == new.id:
        raise InvalidError("to", "is the same audit; choose two different ones")
    before, after = all_shown(unit, principal, [old, new])
    pair, is_internal = _documents(unit, principal, old.id, new.id)
    had, has = _findings(unit, old.id), _findings(unit, new.id)
    return AuditComparison(
        from_audit=before,
        to_audit=after,
        is_same_policy=old.pack_digest == new.pack_digest,
        is_same_table=_is_same_table(unit, old, new),
        is_same_question=_question(old) == _question(new),
        is_internal=is_internal,
        problem=NO_REPORTS if pair is None else "",
        clauses=() if pair is None else tuple(_clauses(*pair)),
        readings=() if pair is None else tuple(_readings(*pair)),
        new=tuple(difference for key, difference in has.items() if key not in had),
        gone=tuple(difference for key, difference in had.items() if key not in has),
        same=len(had.keys() & has.keys()),
    )


def _question(row: Row[Any]) -> tuple[object, ...]:
    """Return what was asked of an audit beside its files and its policy."""
    return row.options, row.knowledge, row.domain


def _audited(unit: Unit, principal: Principal, audit_id: str) -> Row[Any]:
    found = unit.connection.execute(
        audits_of(principal)
        .add_columns(audit.c.knowledge, audit.c.domain)
        .where(audit.c.id == audit_id)
    ).first()
    if found is None:
        raise NotFoundError(f"audit {audit_id[:40]!r}", "nothing here has this id; check the id")
    if found.kind == "repair":
        problem = "is a repair, so its verdict is about another file; compare audits of versions"
        raise ConflictError("audit", problem)
    if found.verdict is None:
        raise ConflictError("audit", "has no verdict yet; wait until it has ended")
    return found


def _is_same_table(unit: Unit, old: Row[Any], new: Row[Any]) -> bool | None:
    """Return whether both audits had the same table, by its digest, which is not shown."""
    if old.data_table_id is None or new.data_table_id is None:
        return None
    wanted = select(data_table.c.digest).where(
        data_table.c.id.in_((old.data_table_id, new.data_table_id))
    )
    return len(set(unit.connection.execute(wanted).scalars())) == 1


def _documents(
    unit: Unit, principal: Principal, old: str, new: str
) -> tuple[tuple[Document, Document] | None, bool]:
    """Return the documents of both, of one kind, and whether they are the full ones."""
    for kind in kinds_for(principal):
        before, after = (kept_document(unit, each, kind) for each in (old, new))
        if before is not None and after is not None:
            return (before, after), kind == "internal"
    return None, False


def _clauses(old: Document, new: Document) -> Iterator[ClauseChange]:
    """Yield all clauses of both, those whose verdict changed first."""
    before, after = _by_clause(old), _by_clause(new)
    changes = [
        _clause_change(before.get(key), after.get(key)) for key in dict.fromkeys((*before, *after))
    ]
    yield from sorted(changes, key=lambda change: not change.is_changed)


def _by_clause(document: Document) -> Mapping[tuple[str, str], parts.Finding]:
    return {(each.clause, each.of): each for each in document.findings}


def _clause_change(old: parts.Finding | None, new: parts.Finding | None) -> ClauseChange:
    shown = new or old
    assert shown is not None
    verdicts = tuple(None if each is None else each.verdict for each in (old, new))
    return ClauseChange(
        clause=f"{shown.of}: {shown.clause}" if shown.of else shown.clause,
        plain=shown.plain,
        limit=shown.limit_text,
        from_verdict=verdicts[0],
        to_verdict=verdicts[1],
        from_value="" if old is None else old.value.text,
        to_value="" if new is None else new.value.text,
        is_changed=verdicts[0] != verdicts[1],
    )


def _readings(old: Document, new: Document) -> Iterator[ReadingChange]:
    for name, before in old.readings.items():
        after = new.readings.get(name)
        if after is not None and (before.low, before.high) != (after.low, after.high):
            yield ReadingChange(plain=before.plain, from_value=before.text, to_value=after.text)


def _findings(unit: Unit, audit_id: str) -> dict[str, Difference]:
    rows = unit.connection.execute(
        select(finding).where(finding.c.audit_id == audit_id).order_by(finding.c.n)
    )
    return {
        row.result_id: Difference(
            clause=row.clause, leaf=row.leaf, verdict=row.verdict, message=row.message
        )
        for row in rows
    }
