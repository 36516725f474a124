"""Uploads: bytes that somebody sent, kept sealed until they become a model or a table, or expire."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from anyio.to_thread import run_sync
from sqlalchemy import ColumnElement, Row, exists, func, insert, select, true, update

from treewarden.ppdm_models.outputs import sheets
from treewarden.ppdm_models.tables.table import MOST_BYTES as MOST_OF_DICTIONARY
from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import job
from treewarden.service.database.tables import blob, contributor, data_table
from treewarden.service.errors import InvalidError, NotFoundError, TooLargeError, TooManyError
from treewarden.service.ledger.log import record
from treewarden.service.schemas.models import Holds
from treewarden.service.settings import Settings
from treewarden.service.site import Site, Unit
from treewarden.service.vault.vault import Stored

# How much an organisation may have at a time: jobs that wait, tables, and bytes that are kept.
#
# Whoever asks at the very same time as others may get a little more: each counts what was there before.


def check_waiting(unit: Unit, principal: Principal) -> None:
    """Check that an organisation may queue one job more.

    Raises:
        TooManyError: as many wait as may.
    """
    most = unit.site.settings.max_waiting
    waiting = select(func.count()).where(
        job.c.organisation_id == principal.organisation_id, job.c.state == "queued"
    )
    if unit.connection.execute(waiting).scalar_one() >= most:
        problem = (
            f"{most:,} audits and files of your organisation are waiting for a "
            "worker, and no more may wait"
        )
        raise TooManyError("jobs", f"{problem}; wait until some are done, or cancel audits")


def check_tables(unit: Unit, principal: Principal) -> None:
    """Check that an organisation may add one table more.

    Raises:
        TooManyError: it has as many as it may.
    """
    most = unit.site.settings.max_tables
    kept = select(func.count()).where(
        data_table.c.organisation_id == principal.organisation_id, data_table.c.erased_at.is_(None)
    )
    if unit.connection.execute(kept).scalar_one() >= most:
        problem = (
            f"your organisation has {most:,} tables that are not erased, and may not have more"
        )
        raise TooManyError(
            "tables", f"{problem}; erase some, or wait until their audits have ended"
        )


def check_stored(unit: Unit, principal: Principal) -> None:
    """Check that an organisation keeps no more bytes than it may.

    Raises:
        TooLargeError: it does.
    """
    left = _left(unit, principal)
    if left < 0:
        raise _no_room(unit.site, left)


def room(site: Site, principal: Principal) -> int:
    """Return how many bytes more an organisation may keep, one at least.

    Raises:
        TooLargeError: none.
    """
    with site.reading() as unit:
        left = _left(unit, principal)
    if left <= 0:
        raise _no_room(site, left)
    return left


def _left(unit: Unit, principal: Principal) -> int:
    kept = select(func.coalesce(func.sum(blob.c.size), 0)).where(
        blob.c.organisation_id == principal.organisation_id, blob.c.sealed_key.is_not(None)
    )
    return unit.site.settings.max_stored - int(unit.connection.execute(kept).scalar_one())


def _no_room(site: Site, left: int) -> TooLargeError:
    problem = (
        f"your organisation may store {max(left, 0):,} more bytes, of "
        f"{site.settings.max_stored:,} in all"
    )
    advice = (
        "erase tables, keep reports for fewer days, or ask the administrator to "
        "raise TREEWARDEN_MAX_STORED"
    )
    return TooLargeError("body", f"{problem}; {advice}")


Kind = Literal["model", "table"]
MOST_OF_FILE: Mapping[Holds, int] = {"output": sheets.MOST_BYTES, "dictionary": MOST_OF_DICTIONARY}
"""Bytes that the readers of further files take at most."""


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes that are kept; ``is_known`` where they were before."""

    digest: str
    size: int
    is_known: bool


async def put_blob(
    site: Site, principal: Principal, digest: str, kind: Kind, chunks: AsyncIterable[bytes]
) -> Upload:
    """Keep bytes as they arrive; known ones are read to the end too, so that whoever names them has them.

    Raises:
        InvalidError: they are not what ``digest`` says.
        TooLargeError: they are more than is taken, or than the organisation may keep.
        UnavailableError: nothing more can be kept.
    """
    most = min(most_of(site.settings, kind), await run_sync(room, site, principal))
    stored = await site.vault.receive(chunks, most)
    return await run_sync(_keep_checked, site, principal, stored, kind, digest)


def most_of(settings: Settings, kind: Kind) -> int:
    """Return how many bytes are taken at most."""
    return settings.max_model if kind == "model" else settings.max_table


def most_of_table(settings: Settings, holds: Holds) -> int:
    """Return how many bytes a table may have at most; a further file is small, as its reader says."""
    return min(settings.max_table, MOST_OF_FILE.get(holds, settings.max_table))


def keep(site: Site, principal: Principal, arrived: Sequence[tuple[Stored, Kind]]) -> list[Upload]:
    """Write down what was stored, all of it in one transaction; what is known already is not kept twice.

    Where the database fails the files stay: nobody knows whether they were written down, and the sweep finds out.

    Raises:
        TooLargeError: it is more than the organisation may keep; nothing of it is.
    """
    try:
        with site.unit() as unit:
            uploads = [_keep(unit, principal, stored, kind) for stored, kind in arrived]
            check_stored(unit, principal)
            for (stored, kind), upload in zip(arrived, uploads, strict=True):  # once all are locked
                if not upload.is_known:
                    detail = {"digest": stored.digest, "size": stored.size, "kind": kind}
                    record(unit, principal, "blob.uploaded", "blob", stored.id, detail)
    except TooLargeError:
        for stored, _ in arrived:
            site.vault.discard(stored)
        raise
    for (stored, _), upload in zip(arrived, uploads, strict=True):
        if upload.is_known:
            site.vault.discard(stored)
    return uploads


def claim_blob(unit: Unit, principal: Principal, digest: str, kind: Kind) -> Row[Any]:
    """Return the row of an upload that becomes a model or a table, locked until the transaction ends.

    A model's is kept from now on; a table's for as long as a table may be, and only for who sent its bytes.

    Raises:
        NotFoundError: the organisation has no such upload, or it was erased; a table of somebody else is unknown.
    """
    found = unit.connection.execute(
        select(blob)
        .where(_is(principal, digest, kind))
        .order_by(blob.c.id.desc())
        .limit(1)
        .with_for_update()
    ).first()
    if found is None:
        problem = f"no upload of a {kind} has this digest; send its bytes to /api/v1/blobs first"
        raise NotFoundError(digest[:12], problem)
    until = None if kind == "model" else _expiry(unit)
    # written even where it stays the same: a sweep that waits for this row looks at it again
    unit.connection.execute(update(blob).where(blob.c.id == found.id).values(expires_at=until))
    return found


def _keep_checked(
    site: Site, principal: Principal, stored: Stored, kind: Kind, digest: str
) -> Upload:
    if stored.digest != digest:
        site.vault.discard(stored)
        problem = (
            "is not the SHA-256 of the bytes that arrived, so nothing was stored; send them again"
        )
        raise InvalidError("digest", problem)
    return keep(site, principal, [(stored, kind)])[0]


def _keep(unit: Unit, principal: Principal, stored: Stored, kind: Kind) -> Upload:
    """Keep bytes once; those of a table once for each who sends them, as nobody hears of the tables of others."""
    known = select(blob.c.id).where(_is(principal, stored.digest, kind)).order_by(blob.c.id.desc())
    if (
        kind == "table"
    ):  # one that is in use goes when its audit ends, maybe before this one is asked for
        known = known.where(~exists().where(data_table.c.blob_id == blob.c.id))
    for each in unit.connection.execute(known.with_for_update(of=blob)).scalars():
        if unit.site.vault.store.holds(each, stored.digest):
            unit.connection.execute(
                update(blob)
                .where(blob.c.id == each, blob.c.expires_at.is_not(None))
                .values(expires_at=_expiry(unit))
            )
            if kind == "model":
                add_contributors(unit, each, [principal.account_id])
            return Upload(stored.digest, stored.size, is_known=True)
    unit.connection.execute(
        insert(blob).values(
            id=stored.id,
            organisation_id=principal.organisation_id,
            digest=stored.digest,
            size=stored.size,
            kind=kind,
            sealed_key=stored.sealed_key,
            uploaded_by=principal.account_id,
            created_at=unit.now,
            expires_at=_expiry(unit),
        )
    )
    if kind == "model":
        add_contributors(unit, stored.id, [principal.account_id])
    return Upload(stored.digest, stored.size, is_known=False)


def add_contributors(unit: Unit, blob_id: str, account_ids: Iterable[str]) -> None:
    """Write down who brought the bytes of a model, where that is not written down yet; its row is locked or new."""
    known = unit.connection.execute(
        select(contributor.c.account_id).where(contributor.c.blob_id == blob_id)
    ).scalars()
    for each in sorted(set(account_ids) - set(known)):
        unit.connection.execute(
            insert(contributor).values(blob_id=blob_id, account_id=each, created_at=unit.now)
        )


def _is(principal: Principal, digest: str, kind: Kind) -> ColumnElement[bool]:
    is_named = true() if kind == "model" else blob.c.uploaded_by == principal.account_id
    return (
        is_named
        & (blob.c.organisation_id == principal.organisation_id)
        & (blob.c.digest == digest)
        & (blob.c.kind == kind)
        & blob.c.sealed_key.is_not(None)
    )


def _expiry(unit: Unit) -> datetime:
    return unit.now + timedelta(hours=unit.site.settings.table_hours)
