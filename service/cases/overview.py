"""What somebody sees first: what waits for a decision, which models do not pass, which waivers are about to end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from sqlalchemy import func, select

from treewarden.service.cases.audit_shown import shown_state
from treewarden.service.cases.parties import parties_of, why_own
from treewarden.service.database.tables import account, audit, model, model_version, release, waiver
from treewarden.service.people.principal import Principal
from treewarden.service.schemas.overview import Expiring, Failing, Overview, Waiting
from treewarden.service.site import Unit

SOON = timedelta(days=14)
MOST = 20
AT_ONCE = 1000
"""So many ids stand in one question at most."""


def overview(unit: Unit, who: Principal) -> Overview:
    """Return what there is to do in the organisation of who asks."""
    states = _audits_by_state(unit, who)
    newest = _newest(unit, who)
    return Overview(
        models=_models(unit, who),
        running=states.get("running", 0),
        queued=states.get("queued", 0),
        passing=sum(verdict == "PASS" for verdict, _ in newest),
        failing=tuple(each for verdict, each in newest if verdict != "PASS"),
        waiting=(*_releases(unit, who), *_waivers(unit, who)),
        expiring=_expiring(unit, who),
    )


def _models(unit: Unit, who: Principal) -> int:
    wanted = select(func.count()).where(model.c.organisation_id == who.organisation_id)
    return int(unit.connection.execute(wanted).scalar_one())


def _audits_by_state(unit: Unit, who: Principal) -> dict[str, int]:
    waiting = (
        select(shown_state().label("state"))
        .where(
            audit.c.organisation_id == who.organisation_id,
            audit.c.state.in_(("queued", "running")),
        )
        .subquery()
    )
    wanted = select(waiting.c.state, func.count()).group_by(waiting.c.state)
    return {state: int(count) for state, count in unit.connection.execute(wanted)}


def _newest(unit: Unit, who: Principal) -> list[tuple[str, Failing]]:
    """Return the verdict of the newest finished audit of each model, newest first; ids are ordered by time.

    Which these are is asked first, by one look into an index for each version: asked for in one, PostgreSQL may look
    for the newest anew for each audit there is.
    """
    last = (
        select(func.max(audit.c.id))
        .where(
            audit.c.organisation_id == who.organisation_id,
            audit.c.state == "done",
            audit.c.model_version_id == model_version.c.id,
        )
        .scalar_subquery()
    )
    of_version = select(model_version.c.model_id, last.label("audit_id")).where(
        model_version.c.organisation_id == who.organisation_id
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


def _releases(unit: Unit, who: Principal) -> list[Waiting]:
    wanted = (
        select(release, account.c.name.label("by"))
        .join(account, account.c.id == release.c.opened_by)
        .where(
            release.c.organisation_id == who.organisation_id,
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
            is_mine=bool(why_own(parties[row.id], who)),
        )
        for row in rows
    ]


def _waivers(unit: Unit, who: Principal) -> list[Waiting]:
    wanted = (
        select(waiver, account.c.name.label("by"))
        .join(account, account.c.id == waiver.c.requested_by)
        .where(
            waiver.c.organisation_id == who.organisation_id,
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
            is_mine=who.account_id == row.requested_by,
        )
        for row in unit.connection.execute(wanted)
    ]


def _expiring(unit: Unit, who: Principal) -> tuple[Expiring, ...]:
    today = unit.now.date()
    wanted = (
        select(waiver)
        .where(
            waiver.c.organisation_id == who.organisation_id,
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
