"""Whether the bytes of a file may be released: by the newest release of a version that has them, as a pipeline asks."""

from __future__ import annotations

from sqlalchemy import select

from treewarden.service.cases.gating import EXITS, Outcome, gate_answer
from treewarden.service.database.tables import audit, model, model_version, release
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.releases import GateAnswer
from treewarden.service.site import Unit

UNKNOWN = "no file with this SHA-256 was uploaded; upload it, have it audited, and open a release"


def file_answer(unit: Unit, who: Principal, sha256: str) -> GateAnswer:
    """Return whether a file may be released; what was not judged or not approved is no pass.

    Of several releases of the same bytes the newest decides, whatever an older one says.
    """
    newest = unit.connection.execute(
        select(release.c.id)
        .join(model_version, model_version.c.id == release.c.model_version_id)
        .where(
            release.c.organisation_id == who.organisation_id,
            model_version.c.digest == sha256,
        )
        .order_by(release.c.id.desc())
        .limit(1)
    ).scalar()
    if newest is not None:
        return gate_answer(unit, who, newest)
    return _without_release(unit, who, sha256)


def _without_release(unit: Unit, who: Principal, sha256: str) -> GateAnswer:
    """Return what keeps a file from being released of which nobody asked a release: never a pass."""
    row = unit.connection.execute(
        select(
            model_version.c.n,
            model.c.name.label("model_name"),
            audit.c.id.label("audit_id"),
            audit.c.state,
            audit.c.verdict,
            audit.c.pack_name,
        )
        .join(model, model.c.id == model_version.c.model_id)
        .outerjoin(
            audit, (audit.c.model_version_id == model_version.c.id) & (audit.c.kind == "audit")
        )
        .where(
            model_version.c.organisation_id == who.organisation_id,
            model_version.c.digest == sha256,
        )
        .order_by(audit.c.id.desc().nulls_last(), model_version.c.id.desc())
        .limit(1)
    ).first()
    if row is None:
        return _answer("NO AUDIT", UNKNOWN, sha256)
    outcome, why = _waits_for(row.state, row.verdict)
    found = _answer(outcome, why, sha256)
    told = {"model": row.model_name, "version": row.n, "audit_id": row.audit_id}
    return found.model_copy(update=told | {"policy": row.pack_name or ""})


def _waits_for(state: str | None, verdict: str | None) -> tuple[Outcome, str]:
    if state is None:
        return "NO AUDIT", "the file was uploaded, but not audited; submit an audit of it"
    if state in ("error", "cancelled"):
        return "NO AUDIT", "there was no audit; submit a new one"
    if state != "done":
        return "PENDING", "the audit is not done yet, and no release is open"
    if verdict == "FAIL":
        return "FAIL", "the audit failed; a version that fails is not released"
    if verdict != "PASS":
        return "UNDETERMINED", "the audit could not decide every clause; that is never a pass"
    return "PENDING", "the audit passed, but no release is open; open one, and have it decided"


def _answer(outcome: Outcome, why: str, sha256: str) -> GateAnswer:
    return GateAnswer(
        outcome=outcome,
        exit_code=EXITS[outcome],
        pending=outcome == "PENDING",
        why=why,
        digest=sha256,
    )
