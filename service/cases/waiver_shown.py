"""A waiver as it is shown, and as it stands in a file of the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, select

from treewarden.service.database.tables import account, waiver
from treewarden.service.schemas.policies import Waiver
from treewarden.service.site import Unit

ASKED, DECIDED = account.alias("asked"), account.alias("decided")
COLUMNS = ("clause", "leaf", "digest", "model", "reason", "owner", "ticket")


def waivers_from(organisation_id: str) -> Select[Any]:
    """Return what selects the waivers of an organisation, with who asked and who decided."""
    return _every().where(waiver.c.organisation_id == organisation_id)


@cache
def _every() -> Select[Any]:
    """Return what selects all waivers; put together once, as that takes longer than many a query."""
    return (
        select(
            waiver,
            ASKED.c.name.label("requested_name"),
            DECIDED.c.name.label("decided_name"),
        )
        .join(ASKED, ASKED.c.id == waiver.c.requested_by)
        .outerjoin(DECIDED, DECIDED.c.id == waiver.c.decided_by)
    )


def shown(unit: Unit, row: Row[Any]) -> Waiver:
    """Return a waiver as it is shown."""
    expires = date.fromisoformat(row.expires)
    return Waiver(
        id=row.id,
        clause=row.clause,
        leaf=row.leaf,
        digest=row.digest,
        model=row.model_name,
        worst=None if row.worst is None else float(row.worst),
        reason=row.reason,
        owner=row.owner,
        ticket=row.ticket,
        expires=expires,
        granted=None if row.granted is None else date.fromisoformat(row.granted),
        state=row.state,
        is_in_force=row.state == "approved" and expires >= unit.now.date(),
        requested_by_id=row.requested_by,
        requested_by=row.requested_name,
        requested_at=row.requested_at,
        decided_by=row.decided_name or "",
        decided_at=row.decided_at,
        comment=row.comment,
    )


def as_file(rows: Iterable[Row[Any]]) -> bytes:
    """Return waivers as a file of the command line."""
    return "\n".join(_section(row) for row in rows).encode()


def _section(row: Row[Any]) -> str:
    said = {**row._mapping, "model": row.model_name}
    lines = ["[[waiver]]"]
    lines += [f"{key} = {_text(said[key])}" for key in COLUMNS if said[key]]
    if row.worst is not None:
        lines.append(f"worst = {row.worst}")
    lines += [f"{key} = {said[key]}" for key in ("expires", "granted") if said[key]]
    return "\n".join([*lines, ""])


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
