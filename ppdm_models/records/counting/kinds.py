"""Which tables are counted and which are read, as far as a path says; nothing heavy is loaded for that."""

from __future__ import annotations

from pathlib import Path

from treewarden.ppdm_models.records.counting.files import digest_of, is_pattern, parts_of
from treewarden.ppdm_models.records.dialect import dialect_of
from treewarden.ppdm_models.records.sheets import sheet_of

MAGIC, MAGIC_AT = b"DUCK", 8


def has_no_records(path: Path) -> bool:
    """Return whether a table can only be counted: a folder, a pattern, a database."""
    file, _ = parted(path)
    return file.is_dir() or is_pattern(file) or is_duckdb(file)


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

    The second is "" where none is named. What the path says of how the table is written is left out.
    """
    path, _ = dialect_of(path)
    file, sign, table = str(path).rpartition("#")
    if sign and not path.exists() and is_duckdb(Path(file)):
        return Path(file), table
    return sheet_of(path)
