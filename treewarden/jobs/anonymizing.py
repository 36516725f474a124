"""A table as a file, generalised as a whole: typed columns and hierarchies in, the bytes of a CSV out."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ppdm_models import limits
from ppdm_models.errors import TableError, TaxonomyError
from ppdm_models.full_domain.groups import Requirement
from ppdm_models.full_domain.lattice import Generalised, Lattice
from ppdm_models.full_domain.levels import ladder
from ppdm_models.records.read_table import read_table
from ppdm_models.records.table import Table
from ppdm_models.records.taxonomy import Categories, Intervals, Taxonomies, Taxonomy
from ppdm_models.records.taxonomy_files import load_taxonomies
from ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from ppdm_models.tree.tree import Feature

MISSING = "(missing)"
"""The category that stands for no value."""

MOST_NUMBERS_AS_CLASSES = 20
"""A sensitive column of more different numbers than this is a quantity, and no number would be frequent."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for; ``qi`` empty: all columns but the sensitive one."""

    table: Path
    sensitive: str
    qi: tuple[str, ...]
    taxonomies: tuple[Path, ...]
    requirement: Requirement


@dataclass(frozen=True, slots=True)
class Subject:
    """A table ready to be generalised. ``left_out`` are the columns that will not be written."""

    wanted: Wanted
    taxonomies: Taxonomies
    lattice: Lattice
    sensitive: CategoricalColumn
    left_out: tuple[str, ...]


def read_subject(wanted: Wanted) -> Subject:
    """Read a table and its hierarchies, and check that what is asked for can be.

    Raises:
        TableError: the table cannot be read, lacks a column or a number, is too small for k or too uniform for l.
        TaxonomyError: a hierarchy cannot be read, is of no quasi-identifier or lacks a value.
    """
    table = read_table(wanted.table)
    taxonomies = load_taxonomies(wanted.taxonomies)
    names = wanted.qi or tuple(name for name in table.columns if name != wanted.sensitive)
    if wanted.sensitive in names:
        problem = (
            f"column {wanted.sensitive!r} is sensitive, so it cannot be a quasi-identifier too"
        )
        raise TableError(table.source, f"{problem}; leave it out of --qi")
    if not names:
        raise TableError(table.source, "there are no quasi-identifiers; name the columns with --qi")
    for name, taxonomy in taxonomies.items():
        if name not in names:
            have = ", ".join(map(repr, names[:12]))
            raise TaxonomyError(f"{taxonomy.source}: {name!r}", f"no quasi-identifier; have {have}")
    sensitive = _sensitive(table, wanted)
    ladders = tuple(
        ladder(name, _attribute(table, name, taxonomies.get(name)), taxonomies.get(name))
        for name in names
    )
    # Without l nothing is asked of the sensitive values, and there may be as many as records.
    judged = sensitive
    if wanted.requirement.l is None:
        judged = CategoricalColumn(codes=np.zeros(table.rows, dtype=np.int64), categories=("",))
    left_out = tuple(name for name in table.columns if name not in (*names, wanted.sensitive))
    return Subject(wanted, taxonomies, Lattice(ladders, judged), sensitive, left_out)


def table_bytes(subject: Subject, found: Generalised) -> bytes:
    """Return the generalised table as CSV: quasi-identifiers, then the sensitive column.

    The records stand in the order of their values, as their old order would tell who is who.
    """
    columns = subject.lattice.columns(found.levels) | {subject.wanted.sensitive: subject.sensitive}
    texts = [np.array(column.categories, dtype=object) for column in columns.values()]
    codes = [column.codes for column in columns.values() if isinstance(column, CategoricalColumn)]
    ranks = [np.argsort(np.argsort(own.astype(str), kind="stable")) for own in texts]
    keys = [rank[code] for rank, code in zip(ranks, codes, strict=True)]
    order = np.lexsort(keys[::-1])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    shown = [own[code[order]] for own, code in zip(texts, codes, strict=True)]
    writer.writerows(zip(*shown, strict=True))
    return text.getvalue().encode("utf-8")


def level_words(subject: Subject, found: Generalised) -> list[str]:
    """Return for each attribute how far it was generalised."""
    lines = []
    for own, level in zip(subject.lattice.ladders, found.levels, strict=True):
        taxonomy = subject.taxonomies.get(own.name)
        if taxonomy is None:
            said = ("kept", "everything (*)")[level]
            lines.append(f"{own.name}: {said}; no taxonomy, so it is kept or becomes everything")
        else:
            kept = " (kept)" if level == 0 else " (everything)" if level == own.height else ""
            lines.append(f"{own.name}: level {level} of {own.height}{kept}, by {taxonomy.source}")
    return lines


def _attribute(table: Table, name: str, taxonomy: Taxonomy | None) -> Column:
    if isinstance(taxonomy, Categories):
        declared = tuple(taxonomy.paths)
        sort = _with_missing(table.categories(name, declared))
        _check_values(table, name, sort, taxonomy)
        return sort
    is_numeric = isinstance(taxonomy, Intervals) or table.guessed(name).numeric
    column = table.column(Feature(name, is_numeric))
    if is_numeric and column.missing.any():
        place = _place(table, int(np.flatnonzero(column.missing)[0]))
        raise TableError(place, f"column {name!r} has no value there; leave such records out")
    return column if isinstance(column, NumericColumn) else _with_missing(column)


def _with_missing(column: CategoricalColumn) -> CategoricalColumn:
    """Return a column of categories in which no value is a category too."""
    if not column.missing.any():
        return column
    return CategoricalColumn(
        codes=np.where(column.codes < 0, len(column.categories), column.codes),
        categories=(*column.categories, MISSING),
    )


def _check_values(table: Table, name: str, column: CategoricalColumn, taxonomy: Categories) -> None:
    lacking = [value not in taxonomy.paths for value in column.categories]
    at_fault = np.array(lacking, dtype=bool)[column.codes]
    if at_fault.any():
        row = int(np.flatnonzero(at_fault)[0])
        value = column.text(row)
        problem = f"column {name!r} holds {value!r}, which {taxonomy.source} lacks; add it there"
        raise TaxonomyError(_place(table, row), problem)


def _place(table: Table, row: int) -> str:
    """Return where a record stands: its line where the file has lines (and no cell holds a line break)."""
    if table.source.lower().endswith(".parquet"):
        return f"{table.source}, record {row + 1}"
    return f"{table.source}:{row + 2}"


def _sensitive(table: Table, wanted: Wanted) -> CategoricalColumn:
    column = table.categories(wanted.sensitive)
    if column.missing.any():
        place = _place(table, int(np.flatnonzero(column.missing)[0]))
        problem = f"column {wanted.sensitive!r} has no value there; leave such records out"
        raise TableError(place, problem)
    asked = wanted.requirement
    if asked.k > table.rows:
        problem = f"no group can hold {asked.k:,} of {table.rows:,} records; lower --k"
        raise TableError(table.source, problem)
    if asked.l is not None:
        _check_diversity(table, wanted.sensitive, len(column.categories), asked)
    return column


def _check_diversity(table: Table, name: str, values: int, asked: Requirement) -> None:
    assert asked.l is not None
    is_quantity = values > MOST_NUMBERS_AS_CLASSES and table.guessed(name).numeric
    if is_quantity or values > limits.CLASSES:
        problem = f"column {name!r} holds {values:,} different values, and --l needs classes"
        raise TableError(table.source, f"{problem}; bin it, or name a column of classes")
    if asked.l > values if asked.c is not None else asked.l >= values:
        wish = (
            f"no group can hold {asked.l:g} different ones"
            if asked.c is not None
            else f"the most frequent one of a group cannot have less than 1/{asked.l:g}"
        )
        raise TableError(table.source, f"column {name!r} has {values} values, so {wish}; lower --l")
