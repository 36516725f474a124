"""How a table to count is opened, whatever it is."""

from __future__ import annotations

from pathlib import Path

from treewarden.ppdm_models.tables.counting.addresses import (
    POSTGRESQL,
    TableAddress,
    is_duckdb,
    parted,
)
from treewarden.ppdm_models.tables.counting.databases import (
    open_duckdb,
    open_postgresql,
    open_warehouse,
)
from treewarden.ppdm_models.tables.counting.files import open_files
from treewarden.ppdm_models.tables.counting.source import TableSource
from treewarden.ppdm_models.tables.dialect import dialect_of


def open_source(path: Path | TableAddress) -> TableSource:
    """Return a table to be counted: a file, a folder, a pattern, a DuckDB database, or a table of a server.

    Raises:
        TableError: it cannot be opened, or holds no table.
    """
    if isinstance(path, TableAddress):
        return open_postgresql(path) if path.scheme in POSTGRESQL else open_warehouse(path)
    place, dialect = dialect_of(path)
    file, table = parted(place)
    if is_duckdb(file):
        return open_duckdb(file, table, dialect)
    return open_files(place, dialect)
