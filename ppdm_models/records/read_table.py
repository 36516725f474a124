"""Reads a table of records once, CSV or Parquet."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from ppdm_models.arrays import FloatArray
from ppdm_models.errors import TableError
from ppdm_models.foreign import PEEKED, table_advice
from ppdm_models.records.table import RawColumn, Table
from ppdm_models.tree.column import CategoricalColumn

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Texts that stand for a missing value, unless the tree declares one of them as a category."""

NUMBERS_NEEDED = (
    "it must hold numbers (the tree compares them, or they are weights); check the column"
)


@dataclass(frozen=True, slots=True)
class ArrowColumn(RawColumn):
    """A column of texts, or as Parquet types it; ``source`` and ``name`` say which in messages."""

    source: str
    name: str
    values: pa.Array

    def cells(self) -> list[object]:
        return list(self.values.to_pylist())

    def numbers(self) -> FloatArray:
        name, values = self.name, self.values
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            values = pc.utf8_trim_whitespace(values)
            values = pc.if_else(pc.is_in(values, pa.array(MISSING, values.type)), None, values)
        elif pa.types.is_boolean(values.type):
            raise TableError(
                self.source,
                f"column {name!r} holds true/false, which are no numbers; {NUMBERS_NEEDED}",
            )
        try:
            numbers = pc.cast(values, pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(self.source, _not_a_number(name, values)) from error
        found = np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if np.isinf(found).any():
            row = int(np.flatnonzero(np.isinf(found))[0]) + 1
            raise TableError(
                self.source,
                f"column {name!r}, record {row}: the number is infinite; give a finite one",
            )
        return found

    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        return _categories(self.values, known)


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
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TableError(path.name, f"two columns are called {twice[0]!r}; rename one")
    if not table.num_rows:
        raise TableError(
            path.name, "the table has no records; give the table that the tree was trained on"
        )
    arrays = {name: _flat(table.column(name)) for name in names}
    return _table(path.name, arrays, table.num_rows)


def table_of(columns: Mapping[str, Iterable[object]], source: str = "table") -> Table:
    """Return a table from values in memory: what a notebook or a test has at hand."""
    arrays = {
        name: _flat(pa.chunked_array([pa.array(list(values))])) for name, values in columns.items()
    }
    return _table(source, arrays, len(next(iter(arrays.values()))))


def _table(source: str, arrays: Mapping[str, pa.Array], rows: int) -> Table:
    columns = {name: ArrowColumn(source, name, values) for name, values in arrays.items()}
    return Table(source, columns, rows)


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


def _flat(column: pa.ChunkedArray) -> pa.Array:
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _not_a_number(name: str, values: pa.Array) -> str:
    for row, value in enumerate(values.to_pylist(), start=1):
        try:
            float("nan" if value is None else value)
        except (TypeError, ValueError):
            return f"column {name!r}, record {row}: {value!r} is not a number; {NUMBERS_NEEDED}"
    return f"column {name!r} holds {values.type}, which are no numbers; {NUMBERS_NEEDED}"


def _categories(values: pa.Array, declared: tuple[str, ...]) -> CategoricalColumn:
    """Return codes into sorted categories; the order does not depend on the order of the records."""
    encoded = pc.dictionary_encode(values)
    raw = [_text(value) for value in encoded.dictionary.to_pylist()]
    matched = [_matched(value, declared) for value in raw]
    categories = tuple(sorted({value for value in matched if value is not None}))
    position = {value: code for code, value in enumerate(categories)}
    recode = np.array(
        [position.get(value, -1) if value is not None else -1 for value in matched] + [-1]
    )
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return CategoricalColumn(codes=recode[codes].astype(np.int64), categories=categories)


def _text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)


def _matched(value: str | None, declared: tuple[str, ...]) -> str | None:
    """Return the declared category that a text means: itself, without padding, or the same number written otherwise."""
    if value is None or value in declared:
        return value
    trimmed = value.strip()
    if trimmed in declared:
        return trimmed
    if trimmed in MISSING:
        return None
    number = _number(trimmed)
    same = [known for known in declared if number is not None and _number(known) == number]
    return same[0] if len(same) == 1 else value


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
