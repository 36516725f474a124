"""What goes with a table of noisy records: which columns are hidden, how, and over which domains.

Nothing in it is secret: whoever holds the table needs it to reconstruct distributions. It names the file by its
digest, so that neither stands for another.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from treewarden.ppdm_models.errors import DomainError, ManifestError, toml_problem
from treewarden.ppdm_models.methods.randomised.domains import LARGEST, ColumnDomain
from treewarden.ppdm_models.methods.randomised.generating import GeneratedAttribute
from treewarden.ppdm_models.methods.randomised.noise import (
    ClassNoise,
    Gaussian,
    Hiding,
    Uniform,
    hiding,
)

SCHEMA = "treewarden-randomised/1"
MOST_BYTES = 16 * 2**20


class _ManifestPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Hidden(_ManifestPart):
    """A column whose values are hidden.

    ``parameter`` is alpha of uniform noise, sigma of Gaussian, the width of classes; in the column's units. ``values``
    are those of a text column in their order: value number i stands in the file as i, with noise. ``domain`` says
    whether its owner declared it or it was read off the data, which gives away the least and the largest value.
    """

    name: str
    noise: Literal["uniform", "gaussian", "discretize"]
    level: float = Field(gt=0)
    confidence: float = Field(gt=0, lt=1)
    parameter: float = Field(gt=0)
    low: float
    high: float
    is_whole: bool
    values: tuple[str, ...] = ()
    domain: Literal["declared", "data"]

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if not self.low < self.high:
            raise ValueError(
                f"{self.name!r}: 'low' ({self.low:g}) must be below 'high' ({self.high:g}); write the manifest again"
            )
        if max(-self.low, self.high, self.parameter) > LARGEST:
            raise ValueError(
                f"{self.name!r}: the range or the noise is larger than {LARGEST:g}; write the manifest again"
            )
        follows = _parameter(hiding(self.noise, self.level, self.low, self.high, self.confidence))
        if not math.isclose(self.parameter, follows, rel_tol=1e-6):
            raise ValueError(
                f"{self.name!r}: 'parameter' does not agree with 'level', 'low' and 'high'; write the manifest again"
            )
        if self.values and (self.low, self.high) != (0, len(self.values) - 1):
            raise ValueError(
                f"{self.name!r}: the domain does not fit its {len(self.values)} values"
            )
        return self

    @property
    def hiding(self) -> Hiding:
        """How its values are hidden."""
        if self.noise == Uniform.kind:
            return Uniform(self.parameter)
        if self.noise == Gaussian.kind:
            return Gaussian(self.parameter)
        return ClassNoise(self.low, self.high, self.parameter)

    @property
    def attribute(self) -> GeneratedAttribute:
        """Its name and domain."""
        return GeneratedAttribute(self.name, self.low, self.high, self.is_whole)


def _parameter(how: Hiding) -> float:
    if isinstance(how, ClassNoise):
        return how.wide
    return how.sigma if isinstance(how, Gaussian) else how.alpha


class Manifest(_ManifestPart):
    """What was made of a table. ``columns`` are hidden; ``clear`` are published as they are, nobody said why.

    ``harmless`` are published as they are because their owner said so; ``label`` is the class of each record, in clear
    too ("" where there is none). ``sha256`` is of the file.
    """

    schema_version: Literal["treewarden-randomised/1"] = Field(
        default="treewarden-randomised/1", alias="schema"
    )
    version: str
    file: str
    sha256: str
    records: int = Field(ge=0)
    columns: tuple[Hidden, ...] = Field(min_length=1)
    clear: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    label: str = ""

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        names = self.names
        if len(set(names)) < len(names):
            raise ValueError("a column is named twice")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that it says anything of."""
        own = tuple(column.name for column in self.columns)
        return (*own, *self.clear, *self.harmless, *((self.label,) if self.label else ()))

    def column(self, name: str) -> Hidden | None:
        """Return how a column is hidden; None where it is not."""
        return next((hidden for hidden in self.columns if hidden.name == name), None)


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return a manifest as JSON."""
    return (manifest.model_dump_json(indent=2, by_alias=True) + "\n").encode()


def read_manifest(data: bytes, where: str) -> Manifest:
    """Return the manifest that bytes hold.

    Raises:
        ManifestError: they are no manifest, or one of what cannot be.
    """
    if len(data) > MOST_BYTES:
        raise ManifestError(where, "too large for a manifest; give the file that randomize wrote")
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        told = toml_problem(first).partition(";")[0]
        raise ManifestError(
            where, f"not a manifest ({told}); give the file that treewarden randomize wrote"
        ) from error


def load_manifest(path: Path) -> Manifest:
    """Return the manifest that a file holds.

    Raises:
        ManifestError: it is none, or one of what cannot be.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        return read_manifest(file.read(MOST_BYTES + 1), path.name)


def check_is_of(manifest: Manifest, path: Path, where: str) -> None:
    """Check that a manifest is of a file, by its digest.

    Raises:
        ManifestError: it is of another.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != manifest.sha256:
        raise ManifestError(
            where,
            f"it is of another file than {path.name}; give the manifest that was written with it",
        )


def check_has(manifest: Manifest, names: Iterable[str], where: str) -> None:
    """Check that a table has every column that a manifest speaks of.

    Raises:
        ManifestError: one is missing.
    """
    missing = sorted(set(manifest.names) - set(names))
    if missing:
        raise ManifestError(where, f"it speaks of a column {missing[0]!r} that the table lacks")


# How a column is hidden: noise of a kind and a level, over the domain of its values.


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one column is hidden."""

    domain: ColumnDomain
    level: float
    confidence: float
    how: Hiding

    @property
    def hidden(self) -> Hidden:
        """What a manifest says of it."""
        column_domain, how = self.domain, self.how
        return Hidden.model_validate(
            {
                "name": column_domain.name,
                "noise": how.kind,
                "level": self.level,
                "confidence": self.confidence,
                "parameter": _planned_parameter(how),
                "low": column_domain.low,
                "high": column_domain.high,
                "is_whole": column_domain.is_whole,
                "values": column_domain.values,
                "domain": column_domain.origin,
            }
        )


def planned(domain: ColumnDomain, kind: str, level: float, confidence: float) -> ColumnPlan:
    """Return how a column is hidden by noise of a kind and a level.

    Raises:
        ValueError: there is no such kind, level or confidence.
        DomainError: the noise is larger than can be reckoned with.
    """
    how = hiding(kind, level, domain.low, domain.high, confidence)
    reach = 0.0 if isinstance(how, ClassNoise) else how.limit
    if not reach + max(abs(domain.low), abs(domain.high)) < LARGEST:
        problem = f"column {domain.name!r}: noise of level {level:g} is larger than numbers can be"
        raise DomainError("the domain", f"{problem}; give the column in another unit")
    return ColumnPlan(domain, level, confidence, how)


def _planned_parameter(how: Hiding) -> float:
    if isinstance(how, Uniform):
        return how.alpha
    return how.wide if isinstance(how, ClassNoise) else how.sigma
