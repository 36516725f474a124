"""Reads a table of records once, CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

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
            start = file.read(PEEKED)
        advice = table_advice(start, path.name)
        if advice:
            raise TableError(path.name, advice)
        is_parquet = start.startswith(b"PAR1")
        table = pa_parquet.read_table(path) if is_parquet else _read_csv(path)
    except OSError as error:
        raise TableError(
            path.name, f"{error.strerror or error}; give a CSV or Parquet file"
        ) from error
    except (pa.ArrowException, UnicodeDecodeError, csv.Error) as error:
        problem = str(error).splitlines()[0][:300]
        raise TableError(
            path.name, f"not a table that can be read ({problem}); give CSV in UTF-8 or Parquet"
        ) from error
    return table_of_arrow(table, path.name)


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


def _read_csv(path: Path) -> pa.Table:
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline(1_000_000)
        delimiter = max(",;\t", key=first.count)
        file.seek(0)
        header = next(csv.reader(file, delimiter=delimiter), [])
    if not header:
        raise TableError(path.name, "the file is empty; give a CSV file with a header row")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise TableError(path.name, f"two columns are called {twice!r}; rename one")
    return pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in header}, strings_can_be_null=False
        ),
    )
