"""Two audits side by side: verdicts, clauses, readings that differ, findings that are new or gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Row, select

from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import Finding
from treewarden.service.auth.principal import Principal
from treewarden.service.database.tables import audit, data_table, finding
from treewarden.service.errors import ConflictError, InvalidError, NotFoundError
from treewarden.service.schemas.audits import AuditComparison, ClauseChange, ReadingChange
from treewarden.service.schemas.models import Difference
from treewarden.service.site import Unit
from treewarden.service.use_cases.show_audit import all_shown, audits_of, kept_document, kinds_for

NO_REPORTS = "the reports of both are not kept, so clauses and readings cannot be compared; audit again for that"


def compare_audits(unit: Unit, who: Principal, from_id: str, to_id: str) -> AuditComparison:
    """Return what differs between two audits of an organisation; readings only from full reports of both.

    Raises:
        NotFoundError: the organisation has no such audits.
        InvalidError: both are the same.
        ConflictError: one has no verdict.
    """
    old, new = (_audited(unit, who, each) for each in (from_id, to_id))
    if old.id == new.id:
        raise InvalidError("to", "is the same audit; choose two")
    before, after = all_shown(unit, who, [old, new])
    pair, is_internal = _documents(unit, who, old.id, new.id)
    had, has = _findings(unit, old.id), _findings(unit, new.id)
    return AuditComparison(
        from_audit=before,
        to_audit=after,
        is_same_policy=old.pack_digest == new.pack_digest,
        is_same_table=_is_same_table(unit, old, new),
        is_same_question=(old.options, old.knowledge) == (new.options, new.knowledge),
        is_internal=is_internal,
        problem=NO_REPORTS if pair is None else "",
        clauses=() if pair is None else tuple(_clauses(*pair)),
        readings=() if pair is None else tuple(_readings(*pair)),
        new=tuple(difference for key, difference in has.items() if key not in had),
        gone=tuple(difference for key, difference in had.items() if key not in has),
        same=len(had.keys() & has.keys()),
    )


def _audited(unit: Unit, who: Principal, audit_id: str) -> Row[Any]:
    found = unit.connection.execute(
        audits_of(who).add_columns(audit.c.knowledge).where(audit.c.id == audit_id)
    ).first()
    if found is None:
        raise NotFoundError(f"audit {audit_id[:40]!r}", "there is none of that id")
    if found.verdict is None:
        raise ConflictError("audit", "has no verdict, so there is nothing to compare; wait for it")
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
    unit: Unit, who: Principal, old: str, new: str
) -> tuple[tuple[Document, Document] | None, bool]:
    """Return the documents of both, of one kind, and whether they are the full ones."""
    for kind in kinds_for(who):
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
    yield from sorted(changes, key=lambda each: not each.is_changed)


def _by_clause(document: Document) -> Mapping[tuple[str, str], Finding]:
    return {(each.clause, each.of): each for each in document.findings}


def _clause_change(old: Finding | None, new: Finding | None) -> ClauseChange:
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
