"""Tables of any database that Ibis reaches, counted there: only distinct rows and counts come back."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.records.counting.address import Address
from treewarden.ppdm_models.records.counting.engine import COUNT, too_many
from treewarden.ppdm_models.records.counting.of_postgresql import PUSHED, digest_of_rows
from treewarden.ppdm_models.records.counting.source import Counted, Source, in_order
from treewarden.ppdm_models.records.places import Places
from treewarden.ppdm_models.records.room import room_bytes


@dataclass(frozen=True, slots=True)
class WarehouseTable(Source):
    """One table of a database; ``expression`` is what Ibis has of it."""

    address: Address
    expression: Any

    @property
    def name(self) -> str:
        return self.address.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.expression.columns)

    def count(self, columns: tuple[str, ...]) -> Counted:
        grouped = self.expression.group_by(list(columns)) if columns else self.expression
        try:
            with _quietly():
                query = grouped.aggregate(**{"counted records": self.expression.count()})
                found = query.to_pyarrow()
        except Exception:  # each database has errors of its own
            raise _refused(self.address) from None
        if found.nbytes > room_bytes() // 2:
            raise too_many(self.name)
        found = in_order(_plain(found.rename_columns([*columns, COUNT])))
        counts = found[COUNT].to_numpy().astype(np.float64)
        if not counts.sum():
            found, counts = found.slice(0, 0), counts[:0]
        several = "column" if len(columns) == 1 else "columns"
        note = PUSHED.format(self.name, len(counts), f"{len(columns)} {several}")
        digest = digest_of_rows(found)
        return Counted(found.select([*columns]), counts, Places(None), digest, (note,))


def open_warehouse(address: Address) -> WarehouseTable:
    """Return a table of a database that Ibis opens by its address.

    Raises:
        TableError: Ibis or its part for such databases is not installed, or there is no such table.
    """
    try:
        ibis = importlib.import_module("ibis")
    except ModuleNotFoundError as error:
        problem = "Ibis is not installed; pip install 'treewarden[warehouse]' brings it"
        raise TableError(address.name, problem) from error
    schema, _, table = address.table.rpartition(".")
    try:
        with _quietly():
            opened = ibis.connect(_reading(address))
            return WarehouseTable(address, opened.table(table, database=schema or None))
    except (ModuleNotFoundError, ImportError) as error:
        problem = (
            f"what Ibis needs for {address.scheme} is not installed; "
            f"pip install 'treewarden[warehouse]' 'ibis-framework[{address.scheme}]' brings it"
        )
        raise TableError(address.name, problem) from error
    except Exception:  # each database has errors of its own, which may quote passwords
        raise _refused(address) from None


@contextmanager
def _quietly() -> Iterator[None]:
    """Say nothing of what a database's driver warns its programmers of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _reading(address: Address) -> str:
    """Return the address; a database that is a file is only read, and not made where there is none."""
    if address.scheme != "duckdb":
        return address.url
    return f"{address.url}{'&' if '?' in address.url else '?'}read_only=True"


def _refused(address: Address) -> TableError:
    problem = "the database does not answer, has no such table, or is none that Ibis opens; check the address"
    return TableError(address.name, problem)


def _plain(rows: pa.Table) -> pa.Table:
    """Return rows without what Arrow cannot sort."""
    return rows.replace_schema_metadata(None)
