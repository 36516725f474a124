"""The further files of an audit: a register of candidates, the public domain of columns, outputs beside the model.

A register lists people any of whom may be in the training table, for checks of membership (``--register``). A domain
declares what values columns can have (``--domain``). Outputs are what is published beside the model (``--output``).
Each is read in full, or refused.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

import numpy as np
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

from treewarden.audit.membership.candidates import find_candidates, match_by_id, with_people
from treewarden.audit.options import AuditOptions
from treewarden.audit.outputs.beside_rows import table_columns
from treewarden.audit.partial.secret_values import AdversaryRequest
from treewarden.audit.population.population import Population, read_register
from treewarden.audit.population.record_linkage import link_records
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import (
    DeclaredColumn,
    DeclaredDomain,
    PublicDomainError,
    find_domain,
)
from treewarden.jobs.inputs import OutputInput, TableInput, read
from treewarden.ppdm_models.errors import (
    KnowledgeError,
    TableError,
    UnsupportedOutputError,
    in_role,
    reading_problem,
    toml_reason,
    toml_words,
    with_advice,
)
from treewarden.ppdm_models.files.load import read_bytes
from treewarden.ppdm_models.outputs.published import PublishedOutput
from treewarden.ppdm_models.outputs.readers import read_together
from treewarden.ppdm_models.tables.matching import has_column
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Task

SAME_COLUMNS = "give a register with the columns and units of the table"
MOST_ADDED_SHARE = 0.5
"""Where a register lacks more of the table's people, it is taken for another one, or its columns for others."""


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedTable:
    """The training table, and the column of it and of the register that says who is who: ``key``, None where none."""

    table: Table
    key: str | None

    def names_people(self, people: Population, register: Population) -> bool:
        """Whether each record of both is one person, of whom the column says who it is."""
        contributions = people.contributions
        if self.key is None or people.weight is not None:
            return False
        if people.order is None or register.order is None:
            return False
        contributors = None if contributions is None else contributions.contributors
        return contributors is None or len(np.unique(contributors)) == len(contributors)


def register_of(
    source: TableInput,
    model: Model,
    people: Population,
    options: AuditOptions,
    identified: IdentifiedTable,
) -> Population:
    """Return the people of a register, with a warning where some of the table's people are not among them.

    Where a column says who is who, people are found by it, and whom the register lacks is added to it. Else they are
    found by equal values.

    Raises:
        TableError: it cannot be read, its columns are not the table's, it holds few of the table's people, or says
            something else of them.
        TreewardenError: the column of who is who is not there, or is none.
    """
    with in_role("the register"):
        table = read(source)
        own, weighed = people.sensitive, options.weights
        sensitive = own if own and has_column(table, own) else None
        weights = weighed if weighed and has_column(table, weighed) else None
        register = read_register(model, table, sensitive=sensitive, qi=people.qi, weights=weights)
    if register.records < people.records:
        problem = (
            f"the register has {register.records:,.0f} people, fewer than the training table "
            f"({people.records:,.0f}); give a register of everybody who could be in the table"
        )
        raise TableError(table.source, problem)
    if identified.names_people(people, register):
        return _matched_by_id(table, register, people, identified)
    candidates = find_candidates(people, register, model.classes)
    if isinstance(candidates, Undetermined) or not candidates.added:
        return register
    how = "are not in the register with the same values"
    _check_found(table, candidates.added, people, f"{how}; {SAME_COLUMNS}")
    return _added(table, register, candidates.added, people, how)


def _matched_by_id(
    table: Table, register: Population, people: Population, identified: IdentifiedTable
) -> Population:
    """Return the register with the people of the table whose ids it lacks.

    Raises:
        TableError: an id is missing or stands for several people, or the register says something else of somebody.
    """
    own, theirs = link_records([identified.table, table], identified.key)
    match = match_by_id(people, register, (own, theirs))
    if match.contradicting:
        columns = ", ".join(
            f"{name!r} ({number:,})" for name, number in match.contradicting.items()
        )
        problem = (
            f"contradicts the training table for people with the same {identified.key!r}, in the "
            f"column {columns}; correct one of them, or remove --id to match people by equal values"
        )
        raise TableError(table.source, problem)
    lacking = len(match.lacking)
    if not lacking:
        return register
    how = f"are not in the register by their {identified.key!r}"
    _check_found(table, lacking, people, f"{how}; write ids in the same way in both")
    full = with_people(register, people, match.lacking)
    return _added(table, full, lacking, people, how)


def _check_found(table: Table, lacking: int, people: Population, problem: str) -> None:
    """Check that a register holds most of the table's people.

    Raises:
        TableError: it does not.
    """
    if lacking > MOST_ADDED_SHARE * people.records:
        who = f"{lacking:,} of {people.records:,.0f} people of the training table"
        raise TableError(table.source, f"{who} {problem}")


def _added(
    table: Table, register: Population, lacking: int, people: Population, how: str
) -> Population:
    """Return a register with the warning that some people were added to it."""
    warning = (
        f"{table.source}: {lacking:,} of {people.records:,.0f} people in the training table "
        f"{how}. They were added to the register"
    )
    return replace(register, warnings=(*register.warnings, warning))


MOST_BYTES = 2**20
MOST_VALUES = 100_000
"""So many values of one column are read."""
Bound = Annotated[FiniteFloat, Field(strict=True)]
ADVICE = "add a section [columns.NAME] for each column, with low and high, or with values"


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
                raise ValueError("both values and bounds are given; give one of them")
            if len({isinstance(value, str) for value in self.values}) > 1:
                raise ValueError("values contains both numbers and texts; give only one kind")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError("low is above high; swap them")
        if self.whole and (self.low is None or self.high is None):
            raise ValueError("whole numbers need low and high; add them")
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
        raise KnowledgeError(where, f"not valid TOML ({toml_reason(error)}); {ADVICE}") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = toml_words(first).removeprefix("value error, ")
        raise KnowledgeError(
            f"{where}: {place}" if place else where, with_advice(problem, ADVICE)
        ) from error
    except PublicDomainError as error:
        raise KnowledgeError(where, with_advice(str(error))) from error


def load_public_domain(source: Path | DeclaredDomain) -> DeclaredDomain:
    """Return what a file declares of the columns, or what was read of one.

    Raises:
        KnowledgeError: it cannot be read, or as by ``read_public_domain``.
    """
    if isinstance(source, DeclaredDomain):
        return source
    try:
        with source.open("rb") as file:
            return read_public_domain(file.read(MOST_BYTES + 1), source.name)
    except OSError as error:
        raise KnowledgeError(
            source.name, reading_problem(error, "give a TOML file of the public domain")
        ) from error


def public_domain_of(source: Path | DeclaredDomain, model: Model) -> DeclaredDomain:
    """Return what a file, or what was read of one, declares of a model's columns.

    Raises:
        KnowledgeError: it cannot be read, or is not about this model.
    """
    declared = load_public_domain(source)
    try:
        find_domain(tuple(trees_of(model)), declared)
    except PublicDomainError as error:
        where = "domain" if isinstance(source, DeclaredDomain) else source.name
        raise KnowledgeError(
            where, with_advice(str(error), "use the names of the model's columns")
        ) from error
    return declared


MOST_OUTPUTS = 50


@dataclass(frozen=True, slots=True)
class OtherQuestions:
    """What else an audit was asked: whether there are earlier releases, and adversaries who know some columns only."""

    has_earlier: bool
    adversaries: AdversaryRequest


def read_outputs(
    outputs: Sequence[OutputInput],
    model: Model,
    population: Population,
    questions: OtherQuestions,
) -> tuple[PublishedOutput, ...]:
    """Return what outputs say of the people of a table, whose columns they name.

    Raises:
        OutputsError: one is not understood, or cannot be judged beside this model or with what else was asked.
    """
    if not outputs:
        return ()
    if questions.has_earlier:
        problem = (
            "outputs can be judged with one model only; audit each release with its own outputs, "
            "or remove the output"
        )
        raise UnsupportedOutputError(outputs[0].name, problem)
    if questions.adversaries.partial or questions.adversaries.secret is not None:
        problem = (
            "outputs are judged only for an adversary who knows all quasi-identifiers; remove the "
            "other adversaries, or the output"
        )
        raise UnsupportedOutputError(outputs[0].name, problem)
    if model.task is not Task.REGRESSION and not model.classes:
        problem = (
            "outputs can be judged only with a model that names its classes; remove the output"
        )
        raise UnsupportedOutputError(outputs[0].name, problem)
    if len(outputs) > MOST_OUTPUTS:
        raise UnsupportedOutputError(
            outputs[0].name, f"more than {MOST_OUTPUTS} outputs; give fewer"
        )
    columns = table_columns(population, model.classes, population.sensitive or model.target)
    return read_together([(_bytes_of(output), output.name) for output in outputs], columns)


def _bytes_of(output: OutputInput) -> bytes:
    return read_bytes(output) if isinstance(output, Path) else output.data
