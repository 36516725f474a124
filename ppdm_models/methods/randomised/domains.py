"""The domains of the columns to randomise, as their owner declares them: TOML, one table for each column.

    [columns.age]
    low = 17
    high = 90
    whole = true

    [columns.education]
    values = ["none", "school", "degree"]

Noise of a level is as wide as a share of the domain, so that a domain has to be known before; one that is declared
tells nobody what the least and the largest value in the table are. A column of texts has its values in their order:
value number i stands for the number i, counted from 0.

Cells are read as numbers of the domain; a message about one names its record and shows no value.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)

from treewarden.ppdm_models.errors import (
    DomainError,
    TableError,
    reading_problem,
    toml_reason,
    toml_words,
    with_advice,
)
from treewarden.ppdm_models.tables.arrow_column import MISSING, flat
from treewarden.ppdm_models.tables.batches import Batches

MOST_BYTES = 2**20
MOST_VALUES = 10_000
LARGEST = 1e150
"""Squares of what is larger are no numbers of 64 bits any more."""
LEAST_SHARE = 2.0**-30
"""A domain that is narrower, as a share of its largest number, leaves no digits for noise."""
Bound = Annotated[float, Field(strict=True, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class ColumnDomain:
    """What the values of a column lie between; ``values`` are those of a column of texts, in their order.

    ``origin`` says whether somebody declared it, or it was read off the data.
    """

    name: str
    low: float
    high: float
    is_whole: bool = False
    values: tuple[str, ...] = ()
    origin: Literal["declared", "data"] = "declared"

    @property
    def width(self) -> float:
        """The width of the range, of which levels of privacy are shares."""
        return self.high - self.low


class _DomainTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    low: Bound | None = None
    high: Bound | None = None
    whole: StrictBool = False
    values: Annotated[tuple[StrictStr, ...], Field(max_length=MOST_VALUES)] | None = None

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if self.values is not None:
            if self.low is not None or self.high is not None or self.whole:
                raise ValueError("both values and bounds are given; give one of them")
            _check_values(self.values)
            return self
        if self.low is None or self.high is None:
            raise ValueError("give low and high, or the values of a column of texts in their order")
        problem = impossible(self.low, self.high)
        if problem:
            raise ValueError(problem)
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError(
                "whole = true, but low or high is not a whole number; correct it, or leave out whole"
            )
        return self


class _DomainsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: dict[str, _DomainTable]


def read_domains(data: bytes, where: str) -> dict[str, ColumnDomain]:
    """Return the domains that a file declares, by column.

    Raises:
        DomainError: it is no such file, or declares what cannot be.
    """
    if len(data) > MOST_BYTES:
        raise DomainError(where, f"larger than {MOST_BYTES // 2**20} MiB; give the domains alone")
    try:
        said = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise DomainError(
            where, f"not valid TOML ({toml_reason(error)}); write [columns.NAME] tables"
        ) from error
    try:
        file = _DomainsFile.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = with_advice(toml_words(first))
        if first["type"] == "extra_forbidden":
            problem = "no such key; a column has low, high and whole, or values"
        raise DomainError(f"{where}: {place}" if place else where, problem) from error
    return {name: _domain(name, column) for name, column in file.columns.items()}


def load_domains(path: Path) -> dict[str, ColumnDomain]:
    """Return the domains that a file declares, by column.

    Raises:
        DomainError: it cannot be read, or as by ``read_domains``.
    """
    try:
        with path.open("rb") as file:
            return read_domains(file.read(MOST_BYTES + 1), path.name)
    except OSError as error:
        raise DomainError(
            path.name, reading_problem(error, "give a TOML file of domains")
        ) from error


def impossible(low: float, high: float) -> str:
    """Return what keeps two numbers from being the bounds of a domain; "" where nothing does."""
    if not low < high:
        return f"low {low:g} is not below high {high:g}; a domain is more than a point"
    largest = max(abs(low), abs(high))
    if largest > LARGEST or largest < 1 / LARGEST:
        return "numbers beyond what can be reckoned with; give the column in another unit"
    if high - low < LEAST_SHARE * largest:
        return "too narrow for numbers so large, noise would be lost; subtract something from them first"
    return ""


def _check_values(values: tuple[str, ...]) -> None:
    trimmed = [each.strip() for each in values]
    if len(values) < 2:
        raise ValueError("fewer than two values; a column of one value has nothing to hide")
    if len(set(trimmed)) < len(values):
        twice = next(each for each in trimmed if trimmed.count(each) > 1)
        raise ValueError(f"the value {twice!r} is there twice; leave one out")


def _domain(name: str, column: _DomainTable) -> ColumnDomain:
    if column.values is not None:
        texts = tuple(each.strip() for each in column.values)
        return ColumnDomain(name, 0.0, float(len(texts) - 1), is_whole=True, values=texts)
    assert column.low is not None
    assert column.high is not None
    return ColumnDomain(name, column.low, column.high, is_whole=column.whole)


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
            problem = f"column {self.name!r} holds {kind}, which are not numbers"
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
                problem = f"column {self.name!r}: the value is not a whole number"
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
        what = "correct it, or leave the cell empty if there is no value"
        return self._place(row), f"column {self.name!r}: the value is not a finite number; {what}"


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
        problem = "has no value; leave it out with --drop"
    elif low == high:
        problem = "has only one value, so there is nothing to hide in it; leave it out with --drop"
    elif impossible(low, high):
        problem = f"holds {impossible(low, high)}"
    if problem:
        raise DomainError(table.source, f"column {name!r} {problem}")
    return ColumnDomain(name, low, high, is_whole=is_whole, origin="data")
