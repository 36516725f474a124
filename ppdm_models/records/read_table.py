"""Reads a table of records once, CSV or Parquet."""

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
from ppdm_models.foreign import PEEKED, table_advice
from ppdm_models.records.arrow_column import flat, table_of_arrays
from ppdm_models.records.table import Table


def read_table(path: Path) -> Table:
    """Read a table: Parquet where the file starts as one, CSV (UTF-8, header row; comma, semicolon or tab) otherwise.

    Raises:
        TableError: the file cannot be read, is no table, has no records, or names a column twice.
    """
    try:
        with path.open("rb") as file:
            return _read(file, path, path.name)
    except OSError as error:
        raise TableError(
            path.name, f"{error.strerror or error}; give a CSV or Parquet file"
        ) from error


def read_table_bytes(data: bytes, name: str) -> Table:
    """Read a table that is in memory, and may not lie on a disk; ``name`` is what it is called in messages.

    Raises:
        TableError: as for a file.
    """
    return _read(io.BytesIO(data), pa.BufferReader(data), name)


def _read(file: BinaryIO, whole: Path | pa.BufferReader, name: str) -> Table:
    start = file.read(PEEKED)
    file.seek(0)
    advice = table_advice(start, name)
    if advice:
        raise TableError(name, advice)
    try:
        is_parquet = start.startswith(b"PAR1")
        table = pa_parquet.read_table(whole) if is_parquet else _read_csv(file, whole, name)
    except (pa.ArrowException, UnicodeDecodeError, csv.Error) as error:
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
    delimiter = delimiter_of(lines.readline(1_000_000))
    lines.seek(0)
    header = next(csv.reader(lines, delimiter=delimiter), [])
    lines.detach()
    if not header:
        raise TableError(name, "the file is empty; give a CSV file with a header row")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise TableError(name, f"two columns are called {twice!r}; rename one")
    return header, delimiter


def _read_csv(file: BinaryIO, whole: Path | pa.BufferReader, name: str) -> pa.Table:
    header, delimiter = csv_header(file, name)
    return pa_csv.read_csv(
        whole,
        read_options=pa_csv.ReadOptions(use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in header}, strings_can_be_null=False
        ),
    )
