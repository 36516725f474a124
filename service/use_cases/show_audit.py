"""An audit as it is shown: its verdict, and the reports that who asks may read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from pydantic import ValidationError
from sqlalchemy import ColumnElement, Row, Select, and_, case, func, select

from treewarden.reports.document.document import Document
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.database.tables import (
    account,
    audit,
    blob,
    data_table,
    finding,
    job,
    model,
    model_version,
    report,
)
from treewarden.service.schemas.audits import Audit, Finding, ReportOf
from treewarden.service.site import Unit

UNSHOWN = frozenset((audit.c.entry, audit.c.knowledge))
"""Columns that may be large, and that no list shows."""
ENDED = ("done", "error", "cancelled")


def audits_of(who: Principal) -> Select[Any]:
    """Return what selects the audits of an organisation, with all that is shown of each."""
    return _every().where(audit.c.organisation_id == who.organisation_id)


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


def show_audit(unit: Unit, who: Principal, row: Row[Any]) -> Audit:
    """Return an audit as it is shown to somebody."""
    return all_shown(unit, who, [row])[0]


def all_shown(unit: Unit, who: Principal, rows: Sequence[Row[Any]]) -> tuple[Audit, ...]:
    """Return audits as they are shown to somebody; their reports are looked up once."""
    reports = _reports(unit, who, [row.id for row in rows if row.state == "done"])
    return tuple(_audit_body(who, row, tuple(reports[row.id])) for row in rows)


def _audit_body(who: Principal, row: Row[Any], reports: tuple[ReportOf, ...]) -> Audit:
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
        pack=row.pack_name,
        pack_digest=row.pack_digest,
        options=row.options,
        purpose=row.purpose,
        findings=row.findings,
        reports=reports,
        provenance=_provenance(who, row.provenance),
        repaired_version_id=row.repaired_version_id,
        original_audit_id=row.original_audit_id,
        keeps_table=bool(row.keeps_table),
        created_by=row.by,
        created_at=row.created_at,
        finished_at=row.finished_at,
    )


def _provenance(who: Principal, told: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the provenance without the digest of the table for who may see no full report: it confirms a guess."""
    if told is None or who.may(Permission.INTERNAL) or not told.get("table"):
        return told
    return {**told, "table": {**told["table"], "sha256": ""}}


def _reports(
    unit: Unit, who: Principal, audit_ids: Sequence[str]
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
        if kind == "public" or who.may(Permission.INTERNAL):
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


def kinds_for(who: Principal) -> tuple[Kind, ...]:
    """Return the kinds of reports that somebody may see, the one that tells most first."""
    return ("internal", "public") if who.may(Permission.INTERNAL) else ("public",)


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
        return Document.model_validate_json(
            unit.site.vault.read(found.id, found.digest, found.sealed_key)
        )
    except ValidationError:  # of a version whose documents held something else
        return None
