"""Which tables are counted and which are read, as far as a path says; nothing heavy is loaded for that."""

from __future__ import annotations

import importlib
from pathlib import Path

from ppdm_models.records.counting.files import digest_of, is_pattern, parts_of
from ppdm_models.records.sheets import sheet_of

MAGIC, MAGIC_AT = b"DUCK", 8
LARGE_BYTES = 64 * 2**20
"""From so many bytes on a file is counted, where nothing needs its single records."""
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"ARROW1", b"PK\x03\x04", b"$FL")
PACKED_TIMES = 8
"""How files start that are packed, or may be, and how many times as large what is in them is taken to be."""
PARQUET, LARGE_RECORDS = b"PAR1", 250_000
"""A Parquet file says how many records it has, and may have millions in a few bytes."""


def has_no_records(path: Path) -> bool:
    """Return whether a table can only be counted: a folder, a pattern, a database."""
    file, _ = parted(path)
    return file.is_dir() or is_pattern(file) or is_duckdb(file)


def is_large(path: Path) -> bool:
    """Return whether a file holds so much that it is counted where that will do."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return False
    if start.startswith(PARQUET):
        return _records_of_parquet(path) >= LARGE_RECORDS
    times = PACKED_TIMES if start.startswith(PACKED) else 1
    return path.stat().st_size * times >= LARGE_BYTES


def is_duckdb(path: Path) -> bool:
    """Return whether a file starts as a DuckDB database."""
    try:
        with path.open("rb") as file:
            return file.read(MAGIC_AT + len(MAGIC))[MAGIC_AT:] == MAGIC
    except OSError:
        return False


def digest_at(path: Path) -> str:
    """Return the digest of a file's bytes; of a table of many files, that of their names and digests.

    Raises:
        OSError: a file cannot be read.
        TableError: there are none.
    """
    return digest_of(parts_of(parted(path)[0]))


def parted(path: Path) -> tuple[Path, str]:
    """Return a database and the table in it that is named, ``people.duckdb#visits``, or a workbook and its sheet.

    The second is "" where none is named.
    """
    file, sign, table = str(path).rpartition("#")
    if sign and not path.exists() and is_duckdb(Path(file)):
        return Path(file), table
    return sheet_of(path)


def _records_of_parquet(path: Path) -> int:
    """Return how many records a Parquet file says that it has; none, where that cannot be read: reading tells why."""
    # what takes long to load, and few tables are such files
    pyarrow = importlib.import_module("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    try:
        return int(parquet.read_metadata(path).num_rows)
    except (OSError, pyarrow.ArrowException):
        return 0
