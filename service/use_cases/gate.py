"""Whether a version may be released, as a pipeline is told: yes only where everything that has to hold holds today."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, exists, or_, select

from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import audit
from treewarden.service.database.tables import (
    model,
    model_version,
    release,
    release_party,
    review,
    waiver,
)
from treewarden.service.errors import NotFoundError
from treewarden.service.ledger.log import is_sealed
from treewarden.service.schemas.releases import GateAnswer
from treewarden.service.site import Unit
from treewarden.service.use_cases.contradictions import ADVICE, contradiction_of

Outcome = Literal["PASS", "UNDETERMINED", "FAIL", "NO AUDIT", "PENDING"]
EXITS: dict[Outcome, Literal[0, 1, 3, 4] | None] = {
    "PASS": 0,
    "FAIL": 1,
    "UNDETERMINED": 3,
    "NO AUDIT": 4,
    "PENDING": None,
}


@dataclass(frozen=True, slots=True)
class GateBasis:
    """What a gate goes by.

    ``has_approval`` is whether the approval of somebody who has no part in it is there, and not only a state that says
    so; ``lapsed`` says which waiver of the audit holds no more, ``contradiction`` what was changed past the service,
    "" for none.
    """

    audit_state: str
    verdict: str | None
    release_state: str
    has_approval: bool
    lapsed: str = ""
    contradiction: str = ""


def gate_answer(unit: Unit, principal: Principal, release_id: str) -> GateAnswer:
    """Return whether a version may be released.

    Raises:
        NotFoundError: the organisation has no such release.
    """
    row = unit.connection.execute(
        select(
            release.c.id,
            release.c.state,
            release.c.audit_id,
            audit.c.state.label("audit_state"),
            audit.c.verdict,
            audit.c.waivers,
            audit.c.entry,
            audit.c.pack_name,
            audit.c.kind,
            model_version.c.n,
            model_version.c.digest,
            model.c.name.label("model_name"),
            exists()
            .where(review.c.release_id == release.c.id, review.c.decision == "approve", ~_is_own())
            .label("has_approval"),
        )
        .join(audit, audit.c.id == release.c.audit_id)
        .join(model_version, model_version.c.id == release.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .where(release.c.organisation_id == principal.organisation_id, release.c.id == release_id)
    ).first()
    if row is None:
        raise NotFoundError(
            f"release {release_id[:40]!r}", "nothing here has this id; check the id"
        )
    outcome, why = decided(
        GateBasis(
            row.audit_state,
            row.verdict,
            row.state,
            bool(row.has_approval),
            lapsed(row.waivers, waivers_by_id(unit, row.waivers), unit.now),
            contradiction_of(unit, principal.organisation_id, row.id, row.audit_id),
        )
    )
    return GateAnswer(
        release_id=row.id,
        outcome=outcome,
        exit_code=EXITS[outcome],
        pending=outcome == "PENDING",
        why=why,
        state=row.state,
        model=row.model_name,
        version=row.n,
        digest=row.digest,
        audit_id=row.audit_id,
        policy=row.pack_name,
        entry=row.entry,
    )


def decided(basis: GateBasis) -> tuple[Outcome, str]:
    """Return the outcome, and why; what is not known to be fine is no pass."""
    if basis.contradiction:
        return "UNDETERMINED", f"{basis.contradiction}; {ADVICE}"
    if basis.audit_state in ("error", "cancelled"):
        return "NO AUDIT", "there was no audit; submit a new one, and a new release with it"
    if basis.audit_state != "done":
        return "PENDING", "the audit is not done yet"
    if basis.verdict == "FAIL":
        return "FAIL", "the audit failed, so this version must not be released"
    if basis.release_state == "rejected":
        return "FAIL", "the release was rejected"
    if basis.release_state == "withdrawn":
        return "FAIL", "the release was withdrawn"
    if basis.verdict != "PASS":
        return "UNDETERMINED", (
            "the audit could not decide every check, so this version must not be released"
        )
    if basis.lapsed:
        return "UNDETERMINED", f"{basis.lapsed}; audit the version again"
    if basis.release_state in ("approved", "released") and not basis.has_approval:
        return (
            "UNDETERMINED",
            "no approval by a person who was not involved is recorded; open a new release",
        )
    if basis.release_state in ("approved", "released"):
        return "PASS", "the audit passed, and another person approved the release"
    if basis.release_state in ("open", "changes"):
        return "PENDING", "the audit passed, and the release waits for a decision"
    return "UNDETERMINED", f"the release has the unknown state {basis.release_state!r}"


def _is_own() -> ColumnElement[bool]:
    """Return whether a review is by somebody who had a part in the release by then."""
    return exists().where(
        release_party.c.release_id == review.c.release_id,
        release_party.c.account_id == review.c.reviewer_id,
        or_(release_party.c.since.is_(None), release_party.c.since <= review.c.at),
    )


def waivers_by_id(unit: Unit, ids: Collection[str]) -> dict[str, Row[Any]]:
    """Return those of some waivers that there are as the service wrote them."""
    if not ids:
        return {}
    rows = unit.connection.execute(select(waiver).where(waiver.c.id.in_(ids)))
    return {row.id: row for row in rows if is_sealed(unit.site, "waiver", row._mapping)}


def lapsed(ids: Sequence[str], rows: Mapping[str, Row[Any]], now: datetime) -> str:
    """Return which of an audit's waivers holds no more today, in words; "" where all hold."""
    today = now.date().isoformat()
    for id_ in ids:
        row = rows.get(id_)
        if row is None:
            return f"waiver {id_[:12]} is missing, or was changed outside the service"
        if row.state != "approved":
            return f"waiver {id_[:12]} was revoked"
        if row.expires < today:
            return f"waiver {id_[:12]} of {row.clause!r} expired on {row.expires}"
    return ""


# Whether the bytes of a file may be released: by the newest release of a version that has them, as a pipeline asks.

UNKNOWN = "no file with this SHA-256 was uploaded; upload it, have it audited, and open a release"


def file_answer(unit: Unit, principal: Principal, sha256: str) -> GateAnswer:
    """Return whether a file may be released; what was not judged or not approved is no pass.

    Of several releases of the same bytes the newest decides, whatever an older one says.
    """
    newest = unit.connection.execute(
        select(release.c.id)
        .join(model_version, model_version.c.id == release.c.model_version_id)
        .where(
            release.c.organisation_id == principal.organisation_id,
            model_version.c.digest == sha256,
        )
        .order_by(release.c.id.desc())
        .limit(1)
    ).scalar()
    if newest is not None:
        return gate_answer(unit, principal, newest)
    return _without_release(unit, principal, sha256)


def _without_release(unit: Unit, principal: Principal, sha256: str) -> GateAnswer:
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
            model_version.c.organisation_id == principal.organisation_id,
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
        return "FAIL", "the audit failed, so this version must not be released"
    if verdict != "PASS":
        return "UNDETERMINED", (
            "the audit could not decide every check, so this version must not be released"
        )
    return "PENDING", (
        "the audit passed, but no release is open; open a release and ask for a decision"
    )


def _answer(outcome: Outcome, why: str, sha256: str) -> GateAnswer:
    return GateAnswer(
        outcome=outcome,
        exit_code=EXITS[outcome],
        pending=outcome == "PENDING",
        why=why,
        digest=sha256,
    )
