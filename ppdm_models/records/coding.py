"""A column's different values, numbered as they are met while a table passes by."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.records.arrow_column import ArrowColumn, flat
from treewarden.ppdm_models.records.arrow_plain import numpy_of
from treewarden.ppdm_models.records.table import RawColumn
from treewarden.ppdm_models.tree.column import CategoricalColumn

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

    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        return self.own.categories(known)

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
