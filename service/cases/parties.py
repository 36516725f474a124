"""Four eyes: whose own a release or a waiver is, so that somebody else decides about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_, select

from treewarden.service.database.tables import (
    account,
    audit,
    blob,
    contributor,
    finding,
    model,
    model_version,
    release_party,
)
from treewarden.service.people.permissions import ALLOWED, Permission, Role
from treewarden.service.people.principal import Principal
from treewarden.service.site import Unit

PARTS: Mapping[str, str] = {
    "uploaded": "you uploaded this version",
    "opened": "you opened this release",
    "asked": "you asked for its audit",
    "brought": "you brought the bytes of its file",
    "wrote": "you wrote the version of the policy that it was judged by",
    "waived": "you asked for a waiver that its audit rests on",
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


def why_own(parties: Sequence[Row[Any]], who: Principal) -> str:
    """Return why somebody does not decide about a release, "" where it is not their own."""
    for row in parties:
        if row.account_id == who.account_id:
            return f"{PARTS[row.part]}, so somebody else decides"
    return ""


def deciders_of(unit: Unit, who: Principal, parties: Sequence[Row[Any]]) -> tuple[str, ...]:
    """Return the names of those of the organisation who may decide about a release, some where they are many."""
    roles = [role for role in Role if Permission.REVIEW in ALLOWED[role]]
    rows = unit.connection.execute(
        select(account.c.name)
        .where(
            account.c.organisation_id == who.organisation_id,
            account.c.role.in_(roles),
            account.c.disabled_at.is_(None),
            account.c.id.not_in({row.account_id for row in parties}),
        )
        .order_by(account.c.name)
        .limit(MOST_NAMED)
    )
    return tuple(rows.scalars())


def is_own_model(unit: Unit, who: Principal, waiver: Row[Any]) -> bool:
    """Return whether somebody uploaded or brought a file that a waiver is for.

    Those are the versions of the model that it names, the file of its digest, and, where it is for every model, those
    whose audits found what it accepts.
    """
    mine = or_(
        model_version.c.uploaded_by == who.account_id,
        select(contributor.c.blob_id)
        .join(blob, blob.c.id == contributor.c.blob_id)
        .where(
            contributor.c.account_id == who.account_id,
            blob.c.organisation_id == model_version.c.organisation_id,
            blob.c.digest == model_version.c.digest,
        )
        .exists(),
    )
    found = (
        select(model_version.c.id)
        .join(model, model.c.id == model_version.c.model_id)
        .where(model_version.c.organisation_id == who.organisation_id, mine, or_(*_is_for(waiver)))
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
