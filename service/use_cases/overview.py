"""What somebody sees first: what waits for a decision, which models do not pass, which waivers are about to end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, func, or_, select

from treewarden.service.auth.principal import ALLOWED, Permission, Principal, Role
from treewarden.service.database.run_tables import audit, finding
from treewarden.service.database.tables import (
    account,
    blob,
    contributor,
    model,
    model_version,
    release,
    release_party,
    waiver,
)
from treewarden.service.schemas.people import Expiring, Failing, Overview, Waiting
from treewarden.service.site import Unit
from treewarden.service.use_cases.show_audit import shown_state

# Four eyes: who owns a release or a waiver, so that another person decides about it.

PARTS: Mapping[str, str] = {
    "uploaded": "you uploaded this version",
    "opened": "you opened this release",
    "asked": "you requested its audit",
    "brought": "you uploaded the bytes of its file",
    "wrote": "you wrote the version of the policy that was used",
    "waived": "you requested a waiver that its audit uses",
}
"""The parts that somebody can have in a release, each as it is told to them."""
MOST_NAMED = 20
"""So many people are named who may decide."""


def parties_of(unit: Unit, release_ids: Collection[str]) -> dict[str, list[Row[Any]]]:
    """Return everybody who has a part in each of some releases: rows of ``account_id``, ``name`` and ``part``.

    Of no release nothing is asked: SQLite would go through all audits and waivers to find nobody.
    """
    found: defaultdict[str, list[Row[Any]]] = defaultdict(list)
    if not release_ids:
        return found
    columns = release_party.c
    statement: Select[Any] = (
        select(columns.release_id, columns.account_id, account.c.name, columns.part)
        .join(account, account.c.id == columns.account_id)
        .where(columns.release_id.in_(release_ids))
        .distinct()
    )
    rows = unit.connection.execute(statement).all()
    order = tuple(PARTS)
    for row in sorted(rows, key=lambda row: (order.index(row.part), row.name)):
        found[row.release_id].append(row)
    return found


def why_own(parties: Sequence[Row[Any]], principal: Principal) -> str:
    """Return why somebody does not decide about a release, "" where it is not their own."""
    for row in parties:
        if row.account_id == principal.account_id:
            return f"{PARTS[row.part]}, so another person must decide"
    return ""


def deciders_of(unit: Unit, principal: Principal, parties: Sequence[Row[Any]]) -> tuple[str, ...]:
    """Return the names of those of the organisation who may decide about a release, some where they are many."""
    roles = [role for role in Role if Permission.REVIEW in ALLOWED[role]]
    rows = unit.connection.execute(
        select(account.c.name)
        .where(
            account.c.organisation_id == principal.organisation_id,
            account.c.role.in_(roles),
            account.c.disabled_at.is_(None),
            account.c.id.not_in({row.account_id for row in parties}),
        )
        .order_by(account.c.name)
        .limit(MOST_NAMED)
    )
    return tuple(rows.scalars())


def is_own_model(unit: Unit, principal: Principal, waiver: Row[Any]) -> bool:
    """Return whether somebody uploaded or brought a file that a waiver is for.

    Those are the versions of the model that it names, the file of its digest, and, where it is for every model, those
    whose audits found what it accepts.
    """
    mine = or_(
        model_version.c.uploaded_by == principal.account_id,
        select(contributor.c.blob_id)
        .join(blob, blob.c.id == contributor.c.blob_id)
        .where(
            contributor.c.account_id == principal.account_id,
            blob.c.organisation_id == model_version.c.organisation_id,
            blob.c.digest == model_version.c.digest,
        )
        .exists(),
    )
    found = (
        select(model_version.c.id)
        .join(model, model.c.id == model_version.c.model_id)
        .where(
            model_version.c.organisation_id == principal.organisation_id,
            mine,
            or_(*_is_for(waiver)),
        )
    )
    return unit.connection.execute(found.limit(1)).first() is not None


def _is_for(waiver: Row[Any]) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if waiver.model_name is not None:
        found.append(model.c.name == waiver.model_name)
    if waiver.digest:
        found.append(model_version.c.digest == waiver.digest.removeprefix("sha256:"))
    if waiver.leaf:
        broken = and_(
            audit.c.model_version_id == model_version.c.id,
            finding.c.clause == waiver.clause,
            finding.c.leaf == waiver.leaf,
        )
        found.append(
            select(finding.c.id)
            .join(audit, audit.c.id == finding.c.audit_id)
            .where(broken)
            .exists()
        )
    return found


SOON = timedelta(days=14)
MOST = 20
AT_ONCE = 1000
"""So many ids stand in one question at most."""


def overview(unit: Unit, principal: Principal) -> Overview:
    """Return what there is to do in the organisation of who asks."""
    states = _audits_by_state(unit, principal)
    newest = _newest(unit, principal)
    return Overview(
        models=_models(unit, principal),
        running=states.get("running", 0),
        queued=states.get("queued", 0),
        passing=sum(verdict == "PASS" for verdict, _ in newest),
        failing=tuple(failing for verdict, failing in newest if verdict != "PASS"),
        waiting=(*_releases(unit, principal), *_waivers(unit, principal)),
        expiring=_expiring(unit, principal),
    )


def _models(unit: Unit, principal: Principal) -> int:
    wanted = select(func.count()).where(model.c.organisation_id == principal.organisation_id)
    return int(unit.connection.execute(wanted).scalar_one())


def _audits_by_state(unit: Unit, principal: Principal) -> dict[str, int]:
    waiting = (
        select(shown_state().label("state"))
        .where(
            audit.c.organisation_id == principal.organisation_id,
            audit.c.state.in_(("queued", "running")),
        )
        .subquery()
    )
    wanted = select(waiting.c.state, func.count()).group_by(waiting.c.state)
    return {state: int(count) for state, count in unit.connection.execute(wanted)}


def _newest(unit: Unit, principal: Principal) -> list[tuple[str, Failing]]:
    """Return the verdict of the newest finished audit of each model, newest first; ids are ordered by time.

    A repair says nothing of the model: its verdict is that of a file which nobody has taken as a version yet.

    Which these are is asked first, by one look into an index for each version: asked for in one, PostgreSQL may look
    for the newest anew for each audit there is.
    """
    last = (
        select(func.max(audit.c.id))
        .where(
            audit.c.organisation_id == principal.organisation_id,
            audit.c.kind == "audit",
            audit.c.state == "done",
            audit.c.model_version_id == model_version.c.id,
        )
        .scalar_subquery()
    )
    of_version = select(model_version.c.model_id, last.label("audit_id")).where(
        model_version.c.organisation_id == principal.organisation_id
    )
    newest: dict[str, str] = {}
    for model_id, audit_id in unit.connection.execute(of_version):
        if audit_id is not None:
            newest[model_id] = max(audit_id, newest.get(model_id, ""))
    ids = sorted(newest.values(), reverse=True)
    parts = (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE))
    return [each for part in parts for each in _verdicts(unit, part)]


def _verdicts(unit: Unit, audit_ids: Sequence[str]) -> list[tuple[str, Failing]]:
    wanted = (
        select(
            model.c.id.label("model_id"),
            model.c.name.label("model_name"),
            audit.c.id.label("audit_id"),
            audit.c.verdict,
            audit.c.headline,
        )
        .join(model_version, model_version.c.id == audit.c.model_version_id)
        .join(model, model.c.id == model_version.c.model_id)
        .where(audit.c.id.in_(audit_ids))
        .order_by(audit.c.id.desc())
    )
    rows = unit.connection.execute(wanted).mappings()
    return [(row["verdict"], Failing(**row)) for row in rows]


def _releases(unit: Unit, principal: Principal) -> list[Waiting]:
    wanted = (
        select(release, account.c.name.label("by"))
        .join(account, account.c.id == release.c.opened_by)
        .where(
            release.c.organisation_id == principal.organisation_id,
            release.c.state.in_(("open", "changes", "approved")),
        )
        .order_by(release.c.id.desc())
        .limit(MOST)
    )
    rows = unit.connection.execute(wanted).all()
    parties = parties_of(unit, [row.id for row in rows])
    return [
        Waiting(
            kind="release",
            id=row.id,
            title=row.title,
            by=row.by,
            since=row.opened_at,
            state=row.state,
            is_mine=bool(why_own(parties[row.id], principal)),
        )
        for row in rows
    ]


def _waivers(unit: Unit, principal: Principal) -> list[Waiting]:
    wanted = (
        select(waiver, account.c.name.label("by"))
        .join(account, account.c.id == waiver.c.requested_by)
        .where(
            waiver.c.organisation_id == principal.organisation_id,
            waiver.c.state == "requested",
        )
        .order_by(waiver.c.id.desc())
        .limit(MOST)
    )
    return [
        Waiting(
            kind="waiver",
            id=row.id,
            title=f"{row.clause} in {row.model_name or 'every model'}",
            by=row.by,
            since=row.requested_at,
            state=row.state,
            is_mine=principal.account_id == row.requested_by,
        )
        for row in unit.connection.execute(wanted)
    ]


def _expiring(unit: Unit, principal: Principal) -> tuple[Expiring, ...]:
    today = unit.now.date()
    wanted = (
        select(waiver)
        .where(
            waiver.c.organisation_id == principal.organisation_id,
            waiver.c.state == "approved",
            waiver.c.expires >= today.isoformat(),
            waiver.c.expires <= (today + SOON).isoformat(),
        )
        .order_by(waiver.c.expires)
        .limit(MOST)
    )
    return tuple(
        Expiring(
            id=row.id,
            clause=row.clause,
            model=row.model_name,
            expires=date.fromisoformat(row.expires),
            owner=row.owner,
        )
        for row in unit.connection.execute(wanted)
    )
