"""The cells of a column as numbers, or a message that names the record at fault and shows no value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import DomainError, TableError
from treewarden.ppdm_models.methods.randomised.domains import ColumnDomain, impossible
from treewarden.ppdm_models.tables.arrow_column import MISSING, flat
from treewarden.ppdm_models.tables.batches import Batches

Numbers = NDArray[np.float64]
NO_VALUE = tuple(each for each in MISSING if each.lower() != "nan")
"""Texts that stand for no value; "NaN" does not, as it may be what came of a mistake in reckoning."""


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Some cells of a column. ``first`` is the number of the first record, counted from 1."""

    source: str
    name: str
    first: int
    values: pa.Array

    def is_numeric(self) -> bool:
        """Return whether they are numbers, and some are there; truth values and times are none."""
        kind = self.values.type
        if not _is_text(kind):
            return _is_number(kind)
        try:
            numbers = _parsed(flat(pa.chunked_array([self.values])))
        except pa.ArrowInvalid:
            return False
        return bool(numbers.null_count < len(numbers))

    def numbers(self) -> Numbers:
        """Return them as numbers, NaN where there is no value.

        Raises:
            TableError: one is no finite number.
        """
        values = flat(pa.chunked_array([self.values]))
        kind = values.type
        if not (_is_text(kind) or _is_number(kind) or pa.types.is_null(kind)):
            problem = f"column {self.name!r} holds {kind}, which are no numbers"
            raise TableError(self.source, f"{problem}; do not name it in --columns")
        try:
            found = _parsed(values) if _is_text(kind) else pc.cast(values, pa.float64(), safe=False)
        except pa.ArrowInvalid as error:
            raise TableError(*self._not_a_number(_first_unparsed(values))) from error
        numbers: Numbers = found.to_numpy(zero_copy_only=False).astype(np.float64)
        at_fault = ~np.isfinite(numbers)
        if found.null_count:
            at_fault &= found.is_valid().to_numpy(zero_copy_only=False)
        if at_fault.any():
            raise TableError(*self._not_a_number(int(np.argmax(at_fault))))
        return numbers

    def within(self, domain: ColumnDomain) -> Numbers:
        """Return them as numbers of a domain, NaN where there is no value.

        Raises:
            TableError: one is no finite number.
            DomainError: one lies outside the domain, or is none of its values.
        """
        if domain.values:
            return self._places(domain)
        numbers = self.numbers()
        outside = (numbers < domain.low) | (numbers > domain.high)
        if outside.any():
            row = int(np.argmax(outside))
            raise DomainError(self._place(row), self._says("the value is outside its domain"))
        if domain.is_whole:
            broken = (numbers != np.round(numbers)) & ~np.isnan(numbers)
            if broken.any():
                problem = f"column {self.name!r}: the value is no whole number"
                what = "leave out whole = true, or mend the record"
                raise DomainError(self._place(int(np.argmax(broken))), f"{problem}; {what}")
        return numbers

    def _places(self, domain: ColumnDomain) -> Numbers:
        """Return the place of each text among the values of a domain."""
        texts = flat(pa.chunked_array([self.values]))
        if pa.types.is_integer(texts.type) or pa.types.is_boolean(texts.type):
            texts = pc.cast(texts, pa.string())
        if not (_is_text(texts.type) or pa.types.is_null(texts.type)):
            problem = f"column {self.name!r} holds {texts.type}, and its domain lists texts"
            raise DomainError(self.source, f"{problem}; give low and high")
        texts = pc.utf8_trim_whitespace(pc.cast(texts, pa.string()))
        found = pc.index_in(texts, pa.array(domain.values))
        at_fault = pc.and_(
            pc.and_(pc.is_null(found), pc.is_valid(texts)),
            pc.invert(pc.is_in(texts, pa.array(NO_VALUE))),
        )
        row = pc.index(at_fault, True).as_py()
        if row >= 0:
            raise DomainError(self._place(row), self._says("the value is not in its domain"))
        places: Numbers = pc.cast(found, pa.float64()).to_numpy(zero_copy_only=False)
        return places

    def _place(self, row: int) -> str:
        return f"{self.source}, record {self.first + row}"

    def _says(self, problem: str) -> str:
        return f"column {self.name!r}: {problem}; widen the domain, or mend the record"

    def _not_a_number(self, row: int) -> tuple[str, str]:
        what = "mend it, or leave the cell empty where there is no value"
        return self._place(row), f"column {self.name!r}: the value is no finite number; {what}"


def _is_number(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _parsed(texts: pa.Array) -> pa.Array:
    """Return texts as numbers; ``ArrowInvalid`` where one is neither a number nor stands for no value."""
    try:
        return pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim_whitespace(texts)
        present = pc.if_else(pc.is_in(trimmed, pa.array(NO_VALUE, trimmed.type)), None, trimmed)
        return pc.cast(present, pa.float64())


def _first_unparsed(texts: pa.Array) -> int:
    low, high = 0, len(texts)  # all before low are numbers, some before high is none
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _parsed(texts[low:middle])
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


# Domains as they are in the data, where nobody declared them: that gives away the least and the largest value.


def domains_of_data(table: Batches, names: Sequence[str]) -> dict[str, ColumnDomain]:
    """Return the domains of numeric columns as they are in the data: from the least to the largest value.

    Raises:
        TableError: the file cannot be read to its end, or a cell holds no finite number.
        DomainError: all values of a column are one, or there is none, or they are too large.
    """
    least, largest = dict.fromkeys(names, math.inf), dict.fromkeys(names, -math.inf)
    is_whole = dict.fromkeys(names, True)
    first = 1
    for batch in table.read(names):
        for name in names:
            values = NoisyCells(table.source, name, first, batch.column(name)).numbers()
            values = values[~np.isnan(values)]
            if len(values):
                least[name] = min(least[name], float(values.min()))
                largest[name] = max(largest[name], float(values.max()))
                is_whole[name] = is_whole[name] and bool((values == np.floor(values)).all())
        first += batch.num_rows
    return {
        name: _of_data(table, name, least[name], largest[name], is_whole[name]) for name in names
    }


def _of_data(table: Batches, name: str, low: float, high: float, is_whole: bool) -> ColumnDomain:
    problem = ""
    if low > high:
        problem = "holds no value; leave it out with --drop"
    elif low == high:
        problem = (
            "holds one value only, so there is nothing to hide in it; leave it out with --drop"
        )
    elif impossible(low, high):
        problem = f"holds {impossible(low, high)}"
    if problem:
        raise DomainError(table.source, f"column {name!r} {problem}")
    return ColumnDomain(name, low, high, is_whole=is_whole, origin="data")
