"""Erasing: the key goes with the transaction, the file after it; and whatever is left over, once a minute.

Whoever has lost a key cannot read the file any more, nor a copy of it: so the key goes first, and a file that could
not be removed then is removed by a later sweep.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, exists, or_, select, update

from treewarden.service.database.tables import audit, blob, data_table, job, model_version
from treewarden.service.errors import UnavailableError
from treewarden.service.ledger.log import record
from treewarden.service.people.principal import Principal
from treewarden.service.site import Site, Unit

LIVE = ("queued", "running")


@dataclass(frozen=True, slots=True)
class Erased:
    """A blob whose key is gone; its file is next."""

    blob_id: str
    digest: str


def finish_with_table(unit: Unit, table_id: str) -> tuple[Erased, ...]:
    """Erase a table that no queued or running audit or repair needs any more; hand the result to ``erase_files``.

    Called in the transaction in which a job ends, after its state was written and before anything is logged.
    """
    found = locked_table(unit, table_id)
    if found is None or found.erased_at is not None or is_needed(unit, table_id):
        return ()
    return erase_row(unit, found.organisation_id, found)


def erase_files(site: Site, erased: Iterable[Erased]) -> None:
    """Remove the files of what was erased; called after the transaction was committed."""
    for each in erased:
        with contextlib.suppress(
            UnavailableError
        ):  # nobody can read it any more; the sweep tries again
            site.vault.erase(each.blob_id, each.digest)


def is_needed(unit: Unit, table_id: str) -> bool:
    """Return whether a queued or running audit or repair needs a table."""
    return bool(unit.connection.execute(select(_needs(table_id))).scalar_one())


def locked_table(unit: Unit, table_id: str) -> Row[Any] | None:
    """Return the row of a table, locked until the transaction ends, so that none is asked for that just goes."""
    return unit.connection.execute(
        select(data_table).where(data_table.c.id == table_id).with_for_update()
    ).first()


def erase_row(unit: Unit, who: Principal | str, found: Row[Any]) -> tuple[Erased, ...]:
    """Erase a table that was locked, and its bytes where no other table has the same.

    The names of its columns stay only where an audit found what it asks about among them: in a file without a header
    the names are the first person's values.
    """
    values: dict[str, Any] = {"state": "erased", "erased_at": unit.now}
    if not unit.connection.execute(select(_was_audited(found.id))).scalar_one():
        values["columns"] = None
    unit.connection.execute(update(data_table).where(data_table.c.id == found.id).values(**values))
    unit.connection.execute(  # whoever still reads it stops
        update(job)
        .where(job.c.subject_id == found.id, job.c.state.in_(LIVE))
        .values(cancel_requested=True)
    )
    erased = () if found.blob_id is None else erase_blob(unit, found.blob_id)
    # last, as it has the log to itself from here on: rows are always locked before the log
    record(unit, who, "table.erased", "table", found.id, {"digest": found.digest})
    return erased


def erase_blob(unit: Unit, blob_id: str) -> tuple[Erased, ...]:
    """Destroy the key of a blob that no table has any more, and no model but refused ones."""
    found = unit.connection.execute(
        select(blob).where(blob.c.id == blob_id).with_for_update()
    ).first()
    # asked only once the row is locked: whoever claims a blob locks it too
    is_used = unit.connection.execute(
        select(
            or_(
                exists().where(data_table.c.blob_id == blob_id, data_table.c.erased_at.is_(None)),
                exists().where(
                    model_version.c.blob_id == blob_id, model_version.c.state != "refused"
                ),
            )
        )
    ).scalar_one()
    if found is None or is_used:
        return ()
    unit.connection.execute(
        update(blob).where(blob.c.id == blob_id).values(sealed_key=None, erased_at=unit.now)
    )
    return (Erased(found.id, found.digest),)


def _needs(table_id: str) -> ColumnElement[bool]:
    return exists().where(*_audits_of(table_id), job.c.state.in_(LIVE))


def _was_audited(table_id: str) -> ColumnElement[bool]:
    return exists().where(*_audits_of(table_id), job.c.state == "done")


def _audits_of(table_id: str) -> tuple[ColumnElement[bool], ...]:
    return (
        job.c.subject_id == audit.c.id,
        audit.c.data_table_id == table_id,
        job.c.kind.in_(("audit", "repair")),
    )
