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
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)

from treewarden.ppdm_models.errors import DomainError

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
                raise ValueError("values, and bounds beside them; give one of both")
            _check_values(self.values)
            return self
        if self.low is None or self.high is None:
            raise ValueError("give low and high, or the values of a column of texts in their order")
        problem = impossible(self.low, self.high)
        if problem:
            raise ValueError(problem)
        if self.whole and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError("whole, and a bound that is no whole number; give whole ones")
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
        raise DomainError(where, f"not TOML ({error}); write [columns.NAME] tables") from error
    try:
        file = _DomainsFile.model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = first["msg"].removeprefix("Value error, ")
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
        problem = error.strerror or "cannot be read"
        raise DomainError(path.name, f"{problem}; give a TOML file of domains") from error


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
