"""Whether this process can do its work just now; what is said of it is for everybody, so it names no place."""

from __future__ import annotations

import structlog
from sqlalchemy import select

from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.database.engine import check_level
from treewarden.service.database.tables import blob
from treewarden.service.errors import SetupError, UnavailableError
from treewarden.service.site import Site
from treewarden.service.vault.folder_store import folder_problem

LOG = structlog.get_logger(__name__)
GOOD = "ok"


def check_key(site: Site) -> None:
    """Check that the key file opens what was sealed last: with another one, what is kept from now on would be lost.

    Raises:
        SetupError: it is another key.
        UnavailableError: the database cannot be reached.
    """
    newest = select(blob.c.sealed_key).where(blob.c.sealed_key.is_not(None))
    with site.reading() as unit:
        sealed = unit.connection.execute(newest.order_by(blob.c.id.desc()).limit(1)).scalar()
    if sealed is None:
        return
    try:
        site.vault.unseal(sealed)
    except UnavailableError as error:
        raise SetupError(error.where, error.problem) from error


def readiness(site: Site) -> dict[str, str]:
    """Return what of database, level and vault can be used; ``ok`` is said of what can."""
    return {**_database(site), "vault": _vault(site)}


def _database(site: Site) -> dict[str, str]:
    try:
        check_level(site.engine)
    except SetupError as error:
        return {"database": GOOD, "level": str(error)}
    except TreewardenError as error:
        LOG.warning("the database cannot be reached", why=str(error))
        return {"database": "cannot be reached", "level": "unknown"}
    return {"database": GOOD, "level": GOOD}


def _vault(site: Site) -> str:
    found = folder_problem(site.vault.folder) or site.vault.store.problem()
    if found:
        LOG.warning("the vault cannot be used", why=found)
        return found
    try:
        check_key(site)
    except SetupError as error:
        return str(error)
    except TreewardenError:  # what the database says of itself
        return GOOD
    return GOOD
