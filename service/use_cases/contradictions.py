"""Whether what the database says of audits and releases agrees with itself, with its seals and with the log.

Everything here is read: a row is written by the service together with its seal and its row of the log, so that one that
was changed past the service contradicts one of them. What contradicts never passes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Row, select

from treewarden.service.database.run_tables import audit, finding, log_entry, report
from treewarden.service.database.tables import blob, model_version, release, waiver
from treewarden.service.database.tables import review as reviews
from treewarden.service.ledger.log import (
    Event,
    digest_of,
    emit,
    head_problem,
    is_sealed,
    record,
    seal_of,
)
from treewarden.service.site import Site, Unit

ADVICE = "let an administrator run: treewarden db check"
FOUND = "contradiction.found"
JUDGED = ("audit.done", "repair.done")
CHANGED = ("opened", "ticked", "approved", "changes", "rejected", "withdrawn", "released")
STATES: Mapping[str, str] = {"opened": "open"} | {each: each for each in CHANGED[2:]}
"""Which state of a release a row of the log says that it was brought into; a tick brings it into none."""


def contradiction_of(unit: Unit, organisation_id: str, release_id: str, audit_id: str) -> str:
    """Return why nothing can be said on the strength of a release and its audit, "" where all agrees.

    It is told to administrators once the transaction has ended.
    """
    problem = (
        contradicted_audits(unit, [audit_id]).get(audit_id, "")
        or contradicted_releases(unit, [release_id]).get(release_id, "")
        or log_contradiction(unit, organisation_id)
    )
    if problem:
        told = partial(tell, unit.site, organisation_id, "release", release_id, problem)
        unit.in_any_case.append(told)
    return problem


def log_contradiction(unit: Unit, organisation_id: str) -> str:
    """Return what is wrong with the end of an organisation's log."""
    problem = head_problem(unit, organisation_id)
    return f"the log was changed outside the service: {problem}" if problem else ""


def contradicted_audits(unit: Unit, audit_ids: Collection[str]) -> dict[str, str]:
    """Return what contradicts the verdicts of some audits, by the audit; those that are not done have none."""
    rows = unit.connection.execute(
        select(audit, model_version.c.digest.label("model_digest"))
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .where(audit.c.id.in_(audit_ids), audit.c.state == "done")
    ).all()
    if not rows:
        return {}
    ids = [row.id for row in rows]
    logged = _logged(unit, rows, JUDGED)
    findings, reports = _findings(unit, ids), _reports(unit, ids)
    found: dict[str, str] = {}
    for row in rows:
        problems = (
            *_of_verdict(unit, row),
            *_of_log(row, logged.get(row.id), "verdict", row.verdict),
            *_of_findings(row, findings[row.id]),
            *_of_reports(unit, reports[row.id]),
        )
        if problems:
            found[row.id] = f"audit {row.id[:12]}: {problems[0]}"
    return found


def contradicted_releases(unit: Unit, release_ids: Collection[str]) -> dict[str, str]:
    """Return what contradicts the states of some releases and what was decided about them, by the release."""
    rows = unit.connection.execute(select(release).where(release.c.id.in_(release_ids))).all()
    if not rows:
        return {}
    logged = _logged(unit, rows, [f"release.{each}" for each in CHANGED])
    decided: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in unit.connection.execute(
        select(reviews).where(reviews.c.release_id.in_(release_ids))
    ):
        decided[row.release_id].append(row)
    found: dict[str, str] = {}
    for row in rows:
        problems = (
            *_of_release(unit, row),
            *_of_log(row, logged.get(row.id), "state", row.state),
            *_of_reviews(unit, decided[row.id]),
        )
        if problems:
            found[row.id] = f"release {row.id[:12]}: {problems[0]}"
    return found


def contradicted_waivers(unit: Unit, organisation_id: str) -> dict[str, str]:
    """Return what contradicts the waivers of an organisation, by the waiver."""
    rows = unit.connection.execute(
        select(waiver).where(waiver.c.organisation_id == organisation_id)
    )
    return {
        row.id: f"waiver {row.id[:12]}: it {_unsealed(row)}"
        for row in rows
        if not is_sealed(unit.site, "waiver", row._mapping)
    }


def seal_audit(unit: Unit, audit_id: str) -> str:
    """Seal the verdict of an audit with all that belongs to it, and its reports; return the seal of the audit."""
    row = unit.connection.execute(
        select(audit, model_version.c.digest.label("model_digest"))
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .where(audit.c.id == audit_id)
    ).one()
    for each in _reports(unit, [audit_id])[audit_id]:
        seal = seal_of(unit.site, "report", each._mapping)
        unit.connection.execute(report.update().where(report.c.id == each.id).values(seal=seal))
    seal = seal_of(unit.site, "audit", row._mapping)
    unit.connection.execute(audit.update().where(audit.c.id == audit_id).values(seal=seal))
    return seal


def tell(site: Site, organisation_id: str, kind: str, object_id: str, problem: str) -> None:
    """Write a contradiction into the log, and tell webhooks; once for each thing and problem."""
    with site.unit() as unit:
        last = unit.connection.execute(
            select(log_entry.c.detail)
            .where(
                log_entry.c.organisation_id == organisation_id,
                log_entry.c.object_id == object_id,
                log_entry.c.action == FOUND,
            )
            .order_by(log_entry.c.seq.desc())
            .limit(1)
        ).scalar()
        if last is not None and last.get("problem") == problem:
            return
        record(unit, organisation_id, FOUND, kind, object_id, {"problem": problem})
        payload = {f"{kind}_id": object_id, "problem": problem}
        emit(unit, organisation_id, Event.CONTRADICTION_FOUND, payload)


def _of_verdict(unit: Unit, row: Row[Any]) -> Iterator[str]:
    if row.entry is not None and row.entry.get("outcome") != row.verdict:
        yield (f"the verdict is {row.verdict}, but its own entry states {row.entry.get('outcome')}")
    if not is_sealed(unit.site, "audit", row._mapping):
        yield f"the verdict {_unsealed(row)}"


def _of_findings(row: Row[Any], rows: Sequence[Row[Any]]) -> Iterator[str]:
    told = [] if row.entry is None else row.entry.get("results", [])
    names = ("id", "clause", "verdict", "severity", "message", "leaf", "path", "accepted")
    wanted = [tuple(each.get(name) for name in names) for each in told]
    found = [(each.result_id, *(getattr(each, name) for name in names[1:])) for each in rows]
    if row.entry is not None and wanted != found:
        yield f"its {len(found)} findings are not the {len(wanted)} of its entry"


def _of_reports(unit: Unit, rows: Sequence[Row[Any]]) -> Iterator[str]:
    for each in rows:
        if not is_sealed(unit.site, "report", each._mapping):
            yield f"the report {each.kind}.{each.form} {_unsealed(each)}"


def _of_release(unit: Unit, row: Row[Any]) -> Iterator[str]:
    if not is_sealed(unit.site, "release", row._mapping):
        yield f"its state {row.state!r} {_unsealed(row)}"


def _of_reviews(unit: Unit, decided: Sequence[Row[Any]]) -> Iterator[str]:
    for each in decided:
        if not is_sealed(unit.site, "review", each._mapping):
            yield f"the decision {each.decision!r} of {each.at:%Y-%m-%d} {_unsealed(each)}"


def _unsealed(row: Row[Any]) -> str:
    return "has no seal" if row.seal is None else "was changed outside the service"


def _of_log(
    row: Row[Any], logged: Sequence[Row[Any]] | None, name: str, value: str
) -> Iterator[str]:
    """Compare a row with what the log says of it: what it was last brought to, and with which seal."""
    if not logged:
        yield f"its {name} is {value}, but the log does not mention it"
        return
    if any(each.hash != digest_of(each._mapping) for each in logged):
        yield "a row of the log about it was changed after it was written"
        return
    said = [state for each in logged if (state := _logged_state(each)) is not None]
    if not said or said[-1] != value:
        yield f"its {name} is {value}, the log says {said[-1] if said else 'nothing about it'}"
    seal = logged[-1].detail.get("seal", row.seal)
    if seal != row.seal:
        yield f"its {name} is older than the last one in the log"


def _logged_state(entry: Row[Any]) -> str | None:
    """Return the verdict of an audit, or the state of a release, that a row of the log tells of."""
    if entry.action in JUDGED:
        verdict = entry.detail.get("verdict")
        return verdict if isinstance(verdict, str) else "nothing"
    return STATES.get(entry.action.removeprefix("release."))


def _logged(
    unit: Unit, rows: Sequence[Row[Any]], actions: Sequence[str]
) -> dict[str, list[Row[Any]]]:
    """Return the rows of the log that tell of some things, oldest first, by the thing."""
    found: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    statement = (
        select(log_entry)
        .where(
            log_entry.c.organisation_id.in_({row.organisation_id for row in rows}),
            log_entry.c.object_id.in_([row.id for row in rows]),
            log_entry.c.action.in_(actions),
        )
        .order_by(log_entry.c.seq)
    )
    for entry in unit.connection.execute(statement):
        found[entry.object_id].append(entry)
    return found


def _findings(unit: Unit, audit_ids: Sequence[str]) -> defaultdict[str, list[Row[Any]]]:
    rows = unit.connection.execute(
        select(finding).where(finding.c.audit_id.in_(audit_ids)).order_by(finding.c.n)
    )
    return _by_audit(rows)


def _reports(unit: Unit, audit_ids: Sequence[str]) -> defaultdict[str, list[Row[Any]]]:
    rows = unit.connection.execute(
        select(report, blob.c.digest.label("blob_digest"))
        .join(blob, blob.c.id == report.c.blob_id)
        .where(report.c.audit_id.in_(audit_ids))
        .order_by(report.c.id)
    )
    return _by_audit(rows)


def _by_audit(rows: Any) -> defaultdict[str, list[Row[Any]]]:  # noqa: ANN401  # what a select gives
    found: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    for row in rows:
        found[row.audit_id].append(row)
    return found
