"""Which folders hold tables that an organisation may name by their path: its own, and nobody else's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import structlog
from sqlalchemy import Select, select

from treewarden.service.database.tables import organisation
from treewarden.service.errors import SetupError
from treewarden.service.settings import Settings
from treewarden.service.site import Unit

LOG = structlog.get_logger(__name__)
WHERE = "TREEWARDEN_TABLE_ROOTS"


@dataclass(frozen=True, slots=True)
class TableRoot:
    """A folder, and the name or id of the organisation whose it is; "" where the setting does not say."""

    organisation: str
    folder: str


def table_roots(settings: Settings) -> tuple[TableRoot, ...]:
    """Return what the setting says: ``ORGANISATION=FOLDER``, or a folder alone."""
    return tuple(map(_root, settings.table_roots))


def roots_of(unit: Unit, organisation_id: str) -> tuple[str, ...]:
    """Return the folders of an organisation; those without one are its own as long as there is no other."""
    found = table_roots(unit.site.settings)
    if not found:
        return ()
    names = {row.id: row.name for row in unit.connection.execute(_organisations())}
    own = {organisation_id, names.get(organisation_id)}
    if len(names) == 1:
        own.add("")
    return tuple(each.folder for each in found if each.organisation in own)


def check_table_roots(unit: Unit) -> None:
    """Check, before a process starts, that each folder belongs to one organisation.

    Raises:
        SetupError: a folder names no organisation where there are several, or lies in that of another one.
    """
    found = table_roots(unit.site.settings)
    rows = unit.connection.execute(_organisations()).all()
    unnamed = next((each for each in found if not each.organisation), None)
    if unnamed is not None and len(rows) > 1:
        which = " or ".join(f"{_written(row.name, row.id)}={unnamed.folder}" for row in rows[:2])
        problem = (
            f"{unnamed.folder!r} names no organisation, and there are {len(rows)}; write {which}"
        )
        raise SetupError(WHERE, problem)
    ids = {row.name: row.id for row in rows}
    _check_apart(
        [TableRoot(ids.get(each.organisation, each.organisation), each.folder) for each in found]
    )
    known = {"", *ids, *ids.values()}
    for each in found:
        if each.organisation not in known:
            LOG.warning("a table root of no organisation", folder=each.folder)


def _check_apart(found: Sequence[TableRoot]) -> None:
    for one, two in combinations(found, 2):
        if one.organisation == two.organisation:
            continue
        first, second = Path(one.folder).resolve(), Path(two.folder).resolve()
        if first.is_relative_to(second) or second.is_relative_to(first):
            problem = (
                f"{one.folder!r} and {two.folder!r} are of two organisations, and one lies in the other; "
                "give each a folder of its own"
            )
            raise SetupError(WHERE, problem)


def _root(said: str) -> TableRoot:
    name, separator, folder = said.partition("=")
    if not separator or "/" in name:
        return TableRoot("", said)
    return TableRoot(name.strip(), folder.strip())


def _written(name: str, organisation_id: str) -> str:
    """Return an organisation as the setting takes it: by its id where the name holds what parts a setting."""
    return organisation_id if set(name) & set("=,/") else name


def _organisations() -> Select[tuple[str, str]]:
    return select(organisation.c.id, organisation.c.name).order_by(organisation.c.name)
