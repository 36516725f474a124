"""Reads a table of records once: CSV, also packed, Parquet, Arrow, or what other programs keep."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from ppdm_models.errors import TableError
from ppdm_models.foreign import ARROW_FILE, PEEKED, table_advice
from ppdm_models.records.arrow_column import flat, table_of_arrays
from ppdm_models.records.labels import labelled
from ppdm_models.records.readers import Reader
from ppdm_models.records.readers.opening import reader_of
from ppdm_models.records.sheets import sheet_of
from ppdm_models.records.table import Table

PACKINGS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed files start, and what Arrow calls the way they are packed."""
LONGEST_HEADER = 1 << 20
"""In bytes: what is unpacked to read the names of the columns."""


def read_table(path: Path) -> Table:
    """Read a table: what the file starts as, CSV where that is nothing else; ``people.xlsx#2024`` is a sheet.

    CSV is in UTF-8 with a header row, parted by comma, semicolon or tab, and may be packed with gzip or Zstandard.

    Raises:
        TableError: the file cannot be read, is no table, has no records, or names a column twice; or what reads it is
            not installed.
    """
    place, sheet = sheet_of(path)
    try:
        with place.open("rb") as file:
            return _read(file, place, path.name, sheet)
    except OSError as error:
        raise TableError(
            path.name, f"{error.strerror or error}; give a CSV, Parquet or Arrow file"
        ) from error


def read_table_bytes(data: bytes, name: str) -> Table:
    """Read a table that is in memory, and may not lie on a disk; ``name`` is what it is called in messages.

    Raises:
        TableError: as for a file.
    """
    return _read(io.BytesIO(data), pa.py_buffer(data), name)


def _read(file: BinaryIO, whole: Path | pa.Buffer, name: str, sheet: str = "") -> Table:
    start = file.read(PEEKED)
    file.seek(0)
    advice = table_advice(start, name)
    if advice:
        raise TableError(name, advice)
    reader = reader_of(start, whole, name, sheet)
    if reader is not None:
        return _of_reader(reader, name)
    try:
        if start.startswith(b"PAR1"):
            # Not ``read_table``, which loads all that reads folders, and pandas with it.
            with pa_parquet.ParquetFile(_source(whole)) as parquet:
                table = parquet.read()
        elif start.startswith(ARROW_FILE):
            with pa.ipc.open_file(_source(whole)) as reader:
                table = reader.read_all()
            table.validate(full=True)
        else:
            table = _read_csv(file, whole, name, packing(start))
    except (pa.ArrowException, UnicodeDecodeError, csv.Error, OSError) as error:
        is_of_system = isinstance(error, OSError) and bool(error.errno)
        if is_of_system or isinstance(error, MemoryError):  # which Arrow counts among its own
            raise
        told = str(error).replace(str(whole), name).replace("<Buffer>", name)
        problem = told.splitlines()[0][:300]
        raise TableError(
            name, f"not a table that can be read ({problem}); give CSV in UTF-8 or Parquet"
        ) from error
    return table_of_arrow(table, name)


def table_of_arrow(table: pa.Table, source: str, index: tuple[str, ...] = ()) -> Table:
    """Return a table that Arrow holds; ``index`` names what labels its records without being a column.

    Raises:
        TableError: it has no records, or names a column twice.
    """
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(source, f"two columns are called {twice[0]!r}; rename one")
    if not table.num_rows:
        raise TableError(
            source, "the table has no records; give the table that the tree was trained on"
        )
    arrays = {name: flat(table.column(name)) for name in names}
    return table_of_arrays(source, arrays, table.num_rows, index)


def table_of(columns: Mapping[str, Iterable[object]], source: str = "table") -> Table:
    """Return a table from values in memory: what a test has at hand."""
    arrays = {
        name: flat(pa.chunked_array([pa.array(list(values))])) for name, values in columns.items()
    }
    return table_of_arrays(source, arrays, len(next(iter(arrays.values()))))


def delimiter_of(first: str) -> str:
    """Return what parts the cells of a file that has a first line: comma, semicolon or tab, whichever is in it most."""
    return max(",;\t", key=first.count)


def csv_header(file: BinaryIO, name: str) -> tuple[list[str], str]:
    """Return the names in the first line of a CSV file, and what parts its cells.

    Raises:
        TableError: the file is empty, or names a column twice.
    """
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    delimiter = delimiter_of(lines.readline(LONGEST_HEADER))
    lines.seek(0)
    header = next(csv.reader(lines, delimiter=delimiter), [])
    lines.detach()
    if not header:
        raise TableError(name, "the file is empty; give a CSV file with a header row")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise TableError(name, f"two columns are called {twice!r}; rename one")
    return header, delimiter


def packing(start: bytes) -> str:
    """Return how a file is packed that starts like this, as Arrow calls it; "" where it is not."""
    return next((name for sign, name in PACKINGS.items() if start.startswith(sign)), "")


def unpacked(whole: Path | pa.Buffer, packed: str) -> pa.NativeFile:
    """Return a packed file to be read from its start."""
    file = pa.OSFile(str(whole)) if isinstance(whole, Path) else pa.BufferReader(whole)
    return pa.CompressedInputStream(file, packed)


def unpacked_start(whole: Path | pa.Buffer, packed: str) -> BinaryIO:
    """Return as much of the start of a packed file as a header may be long."""
    return io.BytesIO(unpacked(whole, packed).read(LONGEST_HEADER))


def _of_reader(reader: Reader, name: str) -> Table:
    table = pa.Table.from_batches(reader.read(reader.schema.names), reader.schema)
    return labelled(table_of_arrow(table, name), reader.labels, reader.notes)


def _source(whole: Path | pa.Buffer) -> Path | pa.BufferReader:
    return whole if isinstance(whole, Path) else pa.BufferReader(whole)


def _read_csv(file: BinaryIO, whole: Path | pa.Buffer, name: str, packed: str = "") -> pa.Table:
    header, delimiter = csv_header(unpacked_start(whole, packed) if packed else file, name)
    return pa_csv.read_csv(
        unpacked(whole, packed) if packed else _source(whole),
        read_options=pa_csv.ReadOptions(use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in header}, strings_can_be_null=False
        ),
    )
