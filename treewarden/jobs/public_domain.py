"""The public domain of a model's columns as a file declares it: ``--domain``."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StrictBool,
    StrictStr,
    ValidationError,
    model_validator,
)

from treewarden.audit.knowledge.toml_words import in_words
from treewarden.audit.reconstruction.domain import (
    DeclaredColumn,
    DeclaredDomain,
    PublicDomainError,
    find_domain,
)
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.ensemble import Model, trees_of

MOST_BYTES = 2**20
MOST_VALUES = 100_000
"""So many values of one column are read."""
Bound = Annotated[FiniteFloat, Field(strict=True)]
ADVICE = "write [columns.NAME] tables with low and high, or values"


class _ColumnTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    low: Bound | None = None
    high: Bound | None = None
    whole: StrictBool = False
    values: (
        Annotated[tuple[StrictStr | Bound, ...], Field(min_length=1, max_length=MOST_VALUES)] | None
    ) = None
    missing: StrictBool = False

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        ends = (self.low, self.high)
        if self.values is not None:
            if ends != (None, None) or self.whole:
                raise ValueError("values, and bounds beside them; give one of both")
            if len({isinstance(value, str) for value in self.values}) > 1:
                raise ValueError("values that are numbers and texts; give one kind")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low is above high")
        if self.whole and (self.low is None or self.high is None):
            raise ValueError("whole numbers need low and high")
        if self.whole and self.high - self.low >= MOST_VALUES:  # type: ignore[operator]
            raise ValueError(f"more than {MOST_VALUES:,} whole numbers; remove 'whole'")
        return self

    def declared(self) -> DeclaredColumn:
        """Return what is said of the column."""
        if self.whole:
            assert self.low is not None
            assert self.high is not None
            numbers = range(math.ceil(self.low), math.floor(self.high) + 1)
            return DeclaredColumn(tuple(map(float, numbers)), self.missing)
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if self.values is None:
            return DeclaredColumn(None, self.missing, low, high)
        texts = tuple(value for value in self.values if isinstance(value, str))
        return DeclaredColumn(
            texts or tuple(value for value in self.values if isinstance(value, float)), self.missing
        )


class _OneOfTable(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: Annotated[tuple[StrictStr, ...], Field(min_length=2)]


class _PublicDomainFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    columns: dict[str, _ColumnTable] = {}
    one_of: tuple[_OneOfTable, ...] = ()


def read_public_domain(data: bytes, where: str) -> DeclaredDomain:
    """Return what a TOML file declares of the columns.

    Raises:
        KnowledgeError: it is no such file, or declares what cannot be.
    """
    if len(data) > MOST_BYTES:
        raise KnowledgeError(where, f"larger than {MOST_BYTES // 2**20} MiB; give the domain alone")
    try:
        file = _PublicDomainFile.model_validate(tomllib.loads(data.decode("utf-8-sig")))
        declared = {name: column.declared() for name, column in file.columns.items()}
        return DeclaredDomain(declared, tuple(group.columns for group in file.one_of))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise KnowledgeError(where, f"not TOML ({error}); {ADVICE}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = in_words(first).removeprefix("value error, ")
        raise KnowledgeError(
            f"{where}: {place}" if place else where, f"{problem}; {ADVICE}"
        ) from error
    except PublicDomainError as error:
        raise KnowledgeError(
            where, f"{error}; declare each column once, with a value at least"
        ) from error


def load_public_domain(path: Path) -> DeclaredDomain:
    """Return what a file declares of the columns.

    Raises:
        KnowledgeError: it cannot be read, or as by ``read_public_domain``.
    """
    try:
        with path.open("rb") as file:
            return read_public_domain(file.read(MOST_BYTES + 1), path.name)
    except OSError as error:
        problem = error.strerror or "cannot be read"
        raise KnowledgeError(
            path.name, f"{problem}; give a TOML file of the public domain"
        ) from error


def public_domain_of(path: Path, model: Model) -> DeclaredDomain:
    """Return what a file declares of a model's columns.

    Raises:
        KnowledgeError: it cannot be read, or is not about this model.
    """
    declared = load_public_domain(path)
    try:
        find_domain(tuple(trees_of(model)), declared)
    except PublicDomainError as error:
        raise KnowledgeError(
            path.name, f"{error}; declare columns as the model has them"
        ) from error
    return declared
