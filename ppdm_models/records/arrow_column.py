"""A column as Arrow holds it, read as numbers or as categories: whatever file or data frame it came from."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_models.arrays import FloatArray
from ppdm_models.errors import TableError
from ppdm_models.records.arrow_plain import nothing, numpy_of, text_array
from ppdm_models.records.places import Places, place
from ppdm_models.records.table import RawColumn, Table
from ppdm_models.tree.column import CategoricalColumn

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""Texts that stand for a missing value, unless the tree declares one of them as a category."""

NUMBERS_NEEDED = (
    "it must hold numbers (the tree compares them, or they are weights); check the column"
)
LARGEST = 2.0**53
"""From here on two whole numbers may be one number of 64 bits: such columns are ids, told apart by their text."""
TRUTH = {"true": 1.0, "false": 0.0}
"""What learners take truth values for, where they compare them as numbers."""


@dataclass(frozen=True, slots=True)
class ArrowColumn(RawColumn):
    """A column of texts, or as its source types it; ``source`` and ``name`` say which in messages.

    ``places`` say where its values stand in a table that was counted.
    """

    source: str
    name: str
    values: pa.Array
    places: Places | None = None

    def cells(self) -> list[object]:
        return list(self.values.to_pylist())

    def is_numeric(self) -> bool:
        if _truth(self.values) is not None or not RawColumn.is_numeric(self):
            return False
        return pa.types.is_floating(self.values.type) or not _is_too_long(self.numbers())

    def numbers(self) -> FloatArray:
        name, values = self.name, self.values
        if _is_text(values):
            values = _present(values)
        elif pa.types.is_temporal(values.type):
            problem = f"column {name!r} holds dates or times, which are no numbers"
            what = "give the number that the model compares in their place"
            raise TableError(self.source, f"{problem}; {what}")
        try:
            numbers = pc.cast(values, pa.float64(), safe=False)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            numbers = _truth(values)
            if numbers is None:
                problem = _not_a_number(name, values, self.places)
                raise TableError(self.source, problem) from error
        found = numpy_of(numbers, math.nan)
        if np.isinf(found).any():
            where = place(self.places, int(np.flatnonzero(np.isinf(found))[0]))
            raise TableError(
                self.source,
                f"column {name!r}, {where}: the number is infinite; give a finite one",
            )
        return found

    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        try:
            return _categories(_dated(self.values), known)
        except pa.ArrowNotImplementedError as error:
            problem = f"column {self.name!r} holds {self.values.type}, neither numbers nor texts"
            raise TableError(self.source, f"{problem}; make it one of them") from error


def table_of_arrays(
    source: str, arrays: Mapping[str, pa.Array], rows: int, index: tuple[str, ...] = ()
) -> Table:
    """Return a table of Arrow's columns; ``index`` names what labels its records without being a column."""
    columns = {name: ArrowColumn(source, name, values) for name, values in arrays.items()}
    return Table(source, columns, rows, index)


def flat(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece and its values spelled out: no dictionary, no view."""
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.chunks else pa.nulls(0, column.type)
    if pa.types.is_dictionary(values.type):
        if pa.types.is_string_view(values.type.value_type):  # which Arrow cannot decode
            named = values.dictionary.cast(pa.string())
            values = pa.DictionaryArray.from_arrays(values.indices, named)
        values = values.dictionary_decode()
    return values.cast(pa.string()) if pa.types.is_string_view(values.type) else values


def _truth(values: pa.Array) -> pa.Array | None:
    """Return truth values as learners compare them, 1 and 0; None of a column that holds anything else."""
    if pa.types.is_boolean(values.type):
        return pc.cast(values, pa.float64())
    if not _is_text(values):
        return None
    said = pc.utf8_lower(_present(values).drop_null())
    if not len(said) or not pc.all(pc.is_in(said, text_array(TRUTH, said.type))).as_py():
        return None
    return pc.cast(pc.equal(pc.utf8_lower(_present(values)), "true"), pa.float64())


def _is_too_long(numbers: FloatArray) -> bool:
    """Return whether some numbers have more digits than are kept of them."""
    return bool((np.abs(numbers) >= LARGEST).any())


def _is_text(values: pa.Array) -> bool:
    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))


def _present(texts: pa.Array) -> pa.Array:
    """Return texts without padding, null where one stands for a missing value."""
    trimmed = pc.utf8_trim_whitespace(texts)
    is_missing = pc.is_in(trimmed, text_array(MISSING, trimmed.type))
    return pc.if_else(is_missing, nothing(trimmed.type), trimmed)


def _not_a_number(name: str, values: pa.Array, places: Places | None) -> str:
    for row, value in enumerate(values.to_pylist()):
        try:
            float("nan" if value is None else value)
        except (TypeError, ValueError):
            return f"column {name!r}, {place(places, row)}: no number; {NUMBERS_NEEDED}"
    return f"column {name!r} holds {values.type}, which are no numbers; {NUMBERS_NEEDED}"


def _dated(values: pa.Array) -> pa.Array:
    """Return points in time as text: the day alone where no record has a time of day."""
    if not pa.types.is_timestamp(values.type):
        return values
    days = pc.cast(values, pa.date32(), safe=False)
    at_midnight = pc.equal(pc.cast(days, values.type), values)
    whole = pc.all(pc.fill_null(at_midnight, fill_value=True)).as_py()
    if whole:
        return pc.cast(days, pa.string())
    with contextlib.suppress(pa.ArrowInvalid):  # some record has a fraction of a second
        values = pc.cast(values, pa.timestamp("s", values.type.tz))
    return pc.cast(values, pa.string())


def _categories(values: pa.Array, declared: tuple[str, ...]) -> CategoricalColumn:
    """Return codes into sorted categories; the order does not depend on the order of the records."""
    encoded = pc.dictionary_encode(values)
    is_truth = pa.types.is_boolean(values.type)
    raw = [_text(value) for value in encoded.dictionary.to_pylist()]
    matched = [_matched(value, declared, is_truth) for value in raw]
    categories = tuple(sorted({value for value in matched if value is not None}))
    position = {value: code for code, value in enumerate(categories)}
    recode = np.array(
        [position.get(value, -1) if value is not None else -1 for value in matched] + [-1],
        dtype=np.int64,
    )
    codes = numpy_of(encoded.indices, -1)
    return CategoricalColumn(codes=recode[codes], categories=categories)


def _text(value: object) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def _matched(value: str | None, declared: tuple[str, ...], is_truth: bool) -> str | None:
    """Return the declared category that a text means.

    That is itself, without padding; the same number written otherwise; or the same truth value, in any case of letters
    and, of a column of nothing but truth values, as 1 or 0.
    """
    if value is None or value in declared:
        return value
    trimmed = value.strip()
    if trimmed in declared:
        return trimmed
    if trimmed in MISSING:
        return None
    truth = TRUTH.get(trimmed.lower())
    if truth is not None:
        same = [known for known in declared if TRUTH.get(known.lower()) == truth]
        if not same and is_truth:
            same = [known for known in declared if _number(known) == truth]
        return same[0] if len(same) == 1 else value
    number = _number(trimmed)
    same = [known for known in declared if number is not None and _number(known) == number]
    return same[0] if len(same) == 1 else value


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
