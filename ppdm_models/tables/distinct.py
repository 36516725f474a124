"""Counts the distinct rows of a table as it passes by once: what is held grows with them, not with the records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.limits import MORE_ROOM, room_bytes
from treewarden.ppdm_models.tables.arrow_column import ArrowColumn, flat
from treewarden.ppdm_models.tables.batches import Batches
from treewarden.ppdm_models.tables.dialect import NO_HEADER, NO_RECORDS, seem_cells
from treewarden.ppdm_models.tables.number_formats import numpy_of
from treewarden.ppdm_models.tables.table import RawColumn, listed
from treewarden.ppdm_models.tree.column import CategoricalColumn

# A column's different values, numbered as they are met while a table passes by.

SPELLED_OUT = {pa.float16(): pa.float32(), pa.binary_view(): pa.binary()}
"""Types whose values cannot be looked up, and those that they are looked up as: each value stays what it is."""


@dataclass(frozen=True, slots=True)
class ValuesColumn(RawColumn):
    """The different values of a column in the order in which they are met; messages name records of the whole table.

    ``codes`` are the value of each distinct row, ``first`` the first record of each, from 0.
    """

    own: ArrowColumn
    codes: IntArray
    first: IntArray

    def record(self, value: int) -> int:
        """Return the first record that has a value, from 0."""
        return int(self.first[self.codes == value].min())

    def cells(self) -> list[object]:
        return self.own.cells()

    def is_numeric(self) -> bool:
        return self.own.is_numeric()

    def categories(self, known_values: tuple[str, ...]) -> CategoricalColumn:
        return self.own.categories(known_values)

    def numbers(self) -> FloatArray:
        try:
            return self.own.numbers()
        except TableError as error:
            start = f"column {self.own.name!r}, record "
            row = re.match(re.escape(start) + r"(\d+)", error.problem)
            if row is None:
                raise
            told = f"{start}{self.record(int(row[1]) - 1) + 1}{error.problem[row.end() :]}"
            raise TableError(error.where, told) from error


class Coder:
    """Numbers the values of one column, which have a type.

    Raises:
        pa.ArrowNotImplementedError: values of this type cannot be told apart, as lists.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self.values = pc.dictionary_encode(_spelled_out(pa.array([], kind))).dictionary
        self.codes(self.values)

    def codes(self, cells: pa.Array) -> IntArray:
        """Return the number of each cell, new values after those that are known; no value is a value too."""
        encoded = pc.dictionary_encode(_spelled_out(cells), null_encoding="encode")
        found = pc.index_in(encoded.dictionary, value_set=self.values)
        numbers = numpy_of(found, -1).astype(np.int64)
        is_new = numbers < 0
        if is_new.any():
            numbers[is_new] = len(self.values) + np.arange(is_new.sum())
            self.values = pa.concat_arrays(
                [self.values, encoded.dictionary.filter(pc.is_null(found))]
            )
        return np.asarray(numbers[numpy_of(encoded.indices, -1)])


def _spelled_out(cells: pa.Array) -> pa.Array:
    values = flat(pa.chunked_array([cells]))
    return values.cast(SPELLED_OUT[values.type]) if values.type in SPELLED_OUT else values


FEWEST_MERGED = 2**18
"""Rows that are counted batch by batch are put together once there are so many, and as many as before."""
FEWER_THAN_VALUES = 4
"""At the most so many times fewer records are counted at a time than there are values in a column."""
COPIES = 10
"""So many times the size of the distinct rows is held at the most, once they are put together, named and sorted."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """The distinct rows of a table: the values of each column, and by number which of them each row has.

    Rows are in the order in which they are first met. ``counts`` are how many records each stands for, shape (rows,).
    """

    columns: Mapping[str, ValuesColumn]
    counts: IntArray

    @property
    def records(self) -> int:
        """How many records the table has."""
        return int(self.counts.sum())


def distinct_rows(table: Batches, columns: Sequence[str]) -> Distinct:
    """Return the distinct rows of a table over some columns: cells that are written differently differ.

    Raises:
        TableError: the table cannot be read to its end, has no records or lacks a column, a column holds lists, its
            distinct rows are more than there is memory for, or the file changed meanwhile.
    """
    coders = [_coder(table, name) for name in columns]
    before = table.stamp()
    found = _counted(table, columns, coders, room_bytes())
    table.check_unchanged(before)
    if found is None:
        problem = NO_RECORDS
        raise TableError(table.source, problem)
    *codes, counts, first = (numpy_of(flat(column), 0) for column in found.sort_by("first").columns)
    values_columns = {
        name: ValuesColumn(ArrowColumn(table.source, name, coder.values), own, first)
        for name, coder, own in zip(columns, coders, codes, strict=True)
    }
    return Distinct(values_columns, counts)


def _coder(table: Batches, name: str) -> Coder:
    if name not in table.names:
        if seem_cells(table.names):
            raise TableError(table.source, f"no column {name!r}; {NO_HEADER}")
        known = f"{near_text(name, table.names)}; the table has {listed(table.names)}"
        raise TableError(table.source, f"no column {name!r}{known}")
    kind = table.schema.field(name).type
    try:
        return Coder(kind)
    except pa.ArrowNotImplementedError as error:
        problem = f"column {name!r} holds {kind}, neither numbers nor texts; make it one of them"
        raise TableError(table.source, problem) from error


def _counted(
    table: Batches, columns: Sequence[str], coders: Sequence[Coder], room: int
) -> pa.Table | None:
    """Return the distinct rows by numbers, how many records each stands for and the first of them; None: no records."""
    parts: list[pa.Table] = []
    records = waiting = known = 0
    for batch in _pieces(table, columns, coders):
        try:
            parts.append(_of_batch(batch, coders, records))
        except (pa.ArrowInvalid, pa.ArrowCapacityError) as error:  # an array holds no more text
            raise _too_many(table, known + waiting, records) from error
        records += batch.num_rows
        waiting += parts[-1].num_rows
        if waiting > max(FEWEST_MERGED, known):
            parts, waiting = [_merged(parts)], 0
            known = parts[0].num_rows
            if COPIES * (parts[0].nbytes + sum(coder.values.nbytes for coder in coders)) > room:
                raise _too_many(table, known, records)
    return _merged(parts) if parts else None


def _pieces(table: Batches, columns: Sequence[str], coders: Sequence[Coder]) -> Iterator[pa.Table]:
    """Yield the records, more at a time the more values are known: looking those up takes as long for few records."""
    waiting: list[pa.RecordBatch] = []
    for batch in table.read(columns):
        waiting.append(batch)
        known = max(len(coder.values) for coder in coders)
        if FEWER_THAN_VALUES * sum(each.num_rows for each in waiting) >= known:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _of_batch(batch: pa.Table, coders: Sequence[Coder], before: int) -> pa.Table:
    """Return some records by numbers; ``before`` are how many there have been."""
    codes = {
        f"c{place}": coder.codes(flat(own)).astype(np.int32)
        for place, (coder, own) in enumerate(zip(coders, batch.columns, strict=True))
    }
    first = np.arange(before, before + batch.num_rows)
    return _merged([pa.table({**codes, "records": np.ones_like(first), "first": first})])


def _merged(parts: Sequence[pa.Table]) -> pa.Table:
    names = parts[0].column_names
    grouped = pa.concat_tables(parts).group_by(names[:-2], use_threads=False)
    found = grouped.aggregate([("records", "sum"), ("first", "min")])
    return found.rename_columns(names)


def _too_many(table: Batches, rows: int, records: int) -> TableError:
    what = f"name fewer columns, bin or round those that are nearly unique, or {MORE_ROOM}"
    problem = f"{rows:,} distinct rows in the first {records:,} records do not fit into memory"
    return TableError(table.source, f"{problem}; {what}")
