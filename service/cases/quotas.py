"""How much an organisation may have at a time: jobs that wait, tables, and bytes that are kept.

Whoever asks at the very same time as others may get a little more: each counts what was there before.
"""

from __future__ import annotations

from sqlalchemy import func, select

from treewarden.service.database.tables import blob, data_table, job
from treewarden.service.errors import TooLargeError, TooManyError
from treewarden.service.people.principal import Principal
from treewarden.service.site import Site, Unit


def check_waiting(unit: Unit, who: Principal) -> None:
    """Check that an organisation may queue one job more.

    Raises:
        TooManyError: as many wait as may.
    """
    most = unit.site.settings.max_waiting
    waiting = select(func.count()).where(
        job.c.organisation_id == who.organisation_id, job.c.state == "queued"
    )
    if unit.connection.execute(waiting).scalar_one() >= most:
        problem = f"{most:,} audits and files of your organisation wait for a worker, which is the most at a time"
        raise TooManyError("jobs", f"{problem}; wait until some are done, or cancel audits")


def check_tables(unit: Unit, who: Principal) -> None:
    """Check that an organisation may add one table more.

    Raises:
        TooManyError: it has as many as it may.
    """
    most = unit.site.settings.max_tables
    kept = select(func.count()).where(
        data_table.c.organisation_id == who.organisation_id, data_table.c.erased_at.is_(None)
    )
    if unit.connection.execute(kept).scalar_one() >= most:
        problem = f"your organisation has {most:,} tables that are not erased, which is the most at a time"
        raise TooManyError(
            "tables", f"{problem}; erase some, or wait until their audits have ended"
        )


def check_stored(unit: Unit, who: Principal) -> None:
    """Check that an organisation keeps no more bytes than it may.

    Raises:
        TooLargeError: it does.
    """
    left = _left(unit, who)
    if left < 0:
        raise _no_room(unit.site, left)


def room(site: Site, who: Principal) -> int:
    """Return how many bytes more an organisation may keep, one at least.

    Raises:
        TooLargeError: none.
    """
    with site.reading() as unit:
        left = _left(unit, who)
    if left <= 0:
        raise _no_room(site, left)
    return left


def _left(unit: Unit, who: Principal) -> int:
    kept = select(func.coalesce(func.sum(blob.c.size), 0)).where(
        blob.c.organisation_id == who.organisation_id, blob.c.sealed_key.is_not(None)
    )
    return unit.site.settings.max_stored - int(unit.connection.execute(kept).scalar_one())


def _no_room(site: Site, left: int) -> TooLargeError:
    problem = f"your organisation may keep {max(left, 0):,} bytes more, of {site.settings.max_stored:,} in all"
    advice = "erase tables, keep reports for fewer days, or have TREEWARDEN_MAX_STORED raised"
    return TooLargeError("body", f"{problem}; {advice}")
