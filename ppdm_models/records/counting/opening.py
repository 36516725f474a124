"""Which tables are counted and which are read, and how a table to count is opened."""

from __future__ import annotations

from pathlib import Path

from ppdm_models.records.counting.address import POSTGRESQL, Address
from ppdm_models.records.counting.files import is_pattern
from ppdm_models.records.counting.of_duckdb import is_duckdb, open_duckdb
from ppdm_models.records.counting.of_files import open_files
from ppdm_models.records.counting.of_postgresql import open_postgresql
from ppdm_models.records.counting.of_warehouse import open_warehouse
from ppdm_models.records.counting.source import Source

LARGE_BYTES = 64 * 2**20
"""From so many bytes on a file is counted, where nothing needs its single records."""


def has_no_records(path: Path) -> bool:
    """Return whether a table can only be counted: a folder, a pattern, a database."""
    file, table = parted(path)
    return bool(table) or file.is_dir() or is_pattern(file) or is_duckdb(file)


def is_large(path: Path) -> bool:
    """Return whether a file is so large that it is counted where that will do."""
    return path.is_file() and path.stat().st_size >= LARGE_BYTES


def open_source(path: Path | Address) -> Source:
    """Return a table to be counted: a file, a folder, a pattern, a DuckDB database, or a table of a server.

    Raises:
        TableError: it cannot be opened, or holds no table.
    """
    if isinstance(path, Address):
        return open_postgresql(path) if path.scheme in POSTGRESQL else open_warehouse(path)
    file, table = parted(path)
    if is_duckdb(file):
        return open_duckdb(file, table)
    return open_files(path)


def parted(path: Path) -> tuple[Path, str]:
    """Return a database file and the table in it that is named, ``people.duckdb#visits``; "" where none is."""
    file, sign, table = str(path).rpartition("#")
    if not sign or path.exists() or not is_duckdb(Path(file)):
        return path, ""
    return Path(file), table
