"""A table as a file, generalised as a whole: what is held of it are its distinct rows, counted as it passes by once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treewarden.jobs.tables.whole_table import TextColumn, groups, sorted_lines, sums
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.errors import RequirementError, TableError, TaxonomyError
from treewarden.ppdm_models.methods.generalise.lattice import (
    GeneralisedTable,
    Ladder,
    Lattice,
    Requirement,
    ladder,
)
from treewarden.ppdm_models.tables.batches import Batches, open_batches
from treewarden.ppdm_models.tables.distinct import Distinct, ValuesColumn, distinct_rows
from treewarden.ppdm_models.tables.taxonomy import (
    Categories,
    IntervalHierarchy,
    Taxonomies,
    Taxonomy,
    load_taxonomies,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn

MISSING = "(missing)"
"""The category that stands for no value."""

MOST_NUMBERS_AS_CLASSES = 20
"""A sensitive column of more different numbers than this is a quantity, and no number would be frequent."""


@dataclass(frozen=True, slots=True)
class GeneraliseRequest:
    """What is asked for; ``qi`` empty: all columns but the sensitive one."""

    table: Path
    sensitive: str
    qi: tuple[str, ...]
    taxonomies: tuple[Path, ...]
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class TableToGeneralise:
    """A table ready to be generalised, by its distinct rows. ``left_out`` are the columns that will not be written.

    ``shown`` are the quasi-identifiers of the rows that differ in them or in the sensitive column, ``sensitive`` those
    rows' values there, ``counts`` how many records each stands for. The lattice may tell fewer rows apart.
    """

    wanted: GeneraliseRequest
    taxonomies: Taxonomies
    lattice: Lattice
    shown: tuple[Ladder, ...]
    sensitive: CategoricalColumn
    counts: IntArray
    left_out: tuple[str, ...]

    @property
    def records(self) -> int:
        """How many records the table has."""
        return int(self.counts.sum())


def read_subject(request: GeneraliseRequest) -> TableToGeneralise:
    """Count the distinct rows of a table, read its hierarchies, and check that what is asked for can be.

    Raises:
        RequirementError: the table is too small for k, or too uniform for l.
        TableError: the table cannot be read, lacks a column or a number; or
            its distinct rows are more than there is memory for.
        TaxonomyError: a hierarchy cannot be read, is of no quasi-identifier or lacks a value.
    """
    table = open_batches(request.table)
    taxonomies = load_taxonomies(request.taxonomies)
    names = request.qi or tuple(name for name in table.names if name != request.sensitive)
    if request.sensitive in names:
        problem = (
            f"column {request.sensitive!r} is sensitive, so it cannot be a quasi-identifier too"
        )
        raise TableError(table.source, f"{problem}; leave it out of --qi")
    if not names:
        raise TableError(table.source, "there are no quasi-identifiers; name the columns with --qi")
    for name, taxonomy in taxonomies.items():
        if name not in names:
            have = ", ".join(map(repr, names[:12]))
            raise TaxonomyError(
                f"{taxonomy.source}: {name!r}",
                "not a quasi-identifier. A CSV taxonomy needs the name of its "
                f"column, such as age.csv; use {have}",
            )
    rows = distinct_rows(table, (request.sensitive, *names))
    sensitive = _sensitive(table, rows, request)
    ladders = tuple(
        ladder(
            name, _attribute(table, rows.columns[name], taxonomies.get(name)), taxonomies.get(name)
        ).placed(rows.columns[name].codes)
        for name in names
    )
    left_out = tuple(name for name in table.names if name not in (*names, request.sensitive))
    lattice = _lattice(ladders, sensitive, rows.counts, request.requirement)
    return TableToGeneralise(
        wanted=request,
        taxonomies=taxonomies,
        lattice=lattice,
        shown=ladders,
        sensitive=sensitive,
        counts=rows.counts,
        left_out=left_out,
    )


def _lattice(
    ladders: tuple[Ladder, ...],
    sensitive: CategoricalColumn,
    counts: IntArray,
    requirement: Requirement,
) -> Lattice:
    if requirement.l is not None:
        return Lattice(ladders, sensitive, counts)
    # Without l nothing is asked of the sensitive values, and there may be as many as records.
    group, first = groups([own.at(0) for own in ladders])
    judged = CategoricalColumn(codes=np.zeros(len(first), dtype=np.int64), categories=("",))
    return Lattice(tuple(own.take(first) for own in ladders), judged, sums(group, counts))


def table_pieces(
    subject: TableToGeneralise, generalised_table: GeneralisedTable
) -> Iterator[bytes]:
    """Yield the generalised table as CSV in pieces: quasi-identifiers, then the sensitive column.

    The records stand in the order of their values, as their old order would tell who is who.
    """
    levels = zip(subject.shown, generalised_table.levels, strict=True)
    columns = {own.name: own.column(level) for own, level in levels}
    columns[subject.wanted.sensitive] = subject.sensitive
    cells = {
        name: TextColumn(categorical_column.codes, categorical_column.categories)
        for name, categorical_column in columns.items()
    }
    yield from sorted_lines(cells, subject.counts)


def level_words(subject: TableToGeneralise, generalised_table: GeneralisedTable) -> list[str]:
    """Return for each attribute how far it was generalised."""
    lines = []
    for own, level in zip(subject.lattice.ladders, generalised_table.levels, strict=True):
        taxonomy = subject.taxonomies.get(own.name)
        if taxonomy is None:
            said = ("kept unchanged", "replaced by * everywhere")[level]
            lines.append(
                f"{own.name}: {said} (for steps in between, give a value hierarchy: --taxonomy FILE)"
            )
        else:
            kept = " (kept)" if level == 0 else " (everything)" if level == own.height else ""
            lines.append(f"{own.name}: level {level} of {own.height}{kept}, by {taxonomy.source}")
    return lines


def _attribute(table: Batches, values: ValuesColumn, taxonomy: Taxonomy | None) -> Column:
    """Return the different values of an attribute, typed."""
    name = values.own.name
    if isinstance(taxonomy, Categories):
        sort = _with_missing(values.categories(tuple(taxonomy.paths)))
        _check_values(table, values, sort, taxonomy)
        return sort
    if not isinstance(taxonomy, IntervalHierarchy) and not values.is_numeric():
        return _with_missing(values.categories(()))
    column = NumericColumn(values.numbers())
    if column.missing.any():
        place = _place(table, values, column.missing)
        raise TableError(
            place,
            f"column {name!r} is empty, but it has intervals; delete such records, or fill the cell",
        )
    return column


def _with_missing(column: CategoricalColumn) -> CategoricalColumn:
    """Return a column of categories in which no value is a category too."""
    if not column.missing.any():
        return column
    return CategoricalColumn(
        codes=np.where(column.codes < 0, len(column.categories), column.codes),
        categories=(*column.categories, MISSING),
    )


def _check_values(
    table: Batches, values: ValuesColumn, column: CategoricalColumn, taxonomy: Categories
) -> None:
    lacking = [value not in taxonomy.paths for value in column.categories]
    at_fault = np.array(lacking, dtype=bool)[column.codes]
    if at_fault.any():
        value = column.text(int(np.flatnonzero(at_fault)[0]))
        name, what = values.own.name, f"which {taxonomy.source} lacks; add it there"
        place = _place(table, values, at_fault)
        raise TaxonomyError(place, f"column {name!r} holds {value!r}, {what}")


def _place(table: Batches, values: ValuesColumn, at_fault: BoolArray) -> str:
    """Return where the first of some values stands: its line where the file has lines (and no cell a line break)."""
    record = values.record(int(np.flatnonzero(at_fault)[0]))
    if not table.delimiter:
        return f"{table.source}, record {record + 1}"
    return f"{table.source}:{record + 2}"


def _sensitive(table: Batches, rows: Distinct, request: GeneraliseRequest) -> CategoricalColumn:
    values = rows.columns[request.sensitive]
    column = values.categories(())
    if column.missing.any():
        place = _place(table, values, column.missing)
        problem = f"column {request.sensitive!r} has no value; leave out such records"
        raise TableError(place, problem)
    requirement = request.requirement
    if requirement.k > rows.records:
        problem = f"no group can hold {requirement.k:,} of {rows.records:,} records; lower --k"
        raise RequirementError(table.source, problem)
    if requirement.l is not None:
        _check_diversity(table, values, len(column.categories), requirement)
    return CategoricalColumn(codes=column.codes[values.codes], categories=column.categories)


def _check_diversity(
    table: Batches, column: ValuesColumn, values: int, requirement: Requirement
) -> None:
    assert requirement.l is not None
    name = column.own.name
    is_quantity = values > MOST_NUMBERS_AS_CLASSES and column.is_numeric()
    if is_quantity or values > limits.CLASSES:
        problem = f"column {name!r} holds {values:,} different values, and --l needs classes"
        raise TableError(
            table.source, f"{problem}; divide it into ranges, or name a column of classes"
        )
    if requirement.l > values if requirement.c is not None else requirement.l >= values:
        why = (
            f"no group can have {requirement.l:g} different values"
            if requirement.c is not None
            else f"in every group one of them has a share of at least 1/{values}. --l {requirement.l:g} requires "
            f"less than 1/{requirement.l:g}"
        )
        problem = f"column {name!r} has only {values} values, so {why}; lower --l"
        raise RequirementError(table.source, problem)
