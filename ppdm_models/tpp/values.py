"""Generalises a table as far as the trees grown on it allow (tree-pattern-preserving sanitisation, steps 2 to 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.learn.attributes import ANY
from treewarden.ppdm_models.tpp.cells import one_per_cell
from treewarden.ppdm_models.tpp.published import as_printed
from treewarden.ppdm_models.tpp.sets import merged
from treewarden.ppdm_models.tpp.splits import Asked, Choice, Cut
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Column,
    Columns,
    NumericColumn,
    categorical,
)


@dataclass(frozen=True, slots=True)
class Generalised:
    """The sanitised attributes, and those in which some records keep a true value next to a split.

    ``names`` say what each value of an attribute that is parted by sets is called now.
    """

    columns: Columns
    anchored: tuple[str, ...]
    names: Mapping[str, Mapping[str, str]]


def generalise(
    columns: Columns, asked: Asked, *, as_published: bool = False, single: bool = False
) -> Generalised:
    """Return each attribute with the values that no tree tells apart made one; ``single`` where they compare 32 bits.

    What no tree uses becomes its mean, or ``*``; numbers follow ``tpp_cells``, or (``as_published``) the printed step
    3; of categories, those that a split names keep their names and the others become ``*``, or (parted by sets) those
    that always go the same way become one.
    """
    found, anchored, names = {}, [], {}
    for name, column in columns.items():
        choices = asked.choices.get(name, ())
        if choices and all(choice.sides is not None for choice in choices):
            parted = categorical(column)
            names[name] = merged(parted.categories, choices)
            found[name] = _renamed(parted, names[name])
        elif isinstance(column, CategoricalColumn):
            found[name] = _named(column, choices)
        elif name not in asked.cuts:
            found[name] = _mean(column, single)
        else:
            found[name], has_anchors = _cut(column, asked.cuts[name], as_published, single)
            if has_anchors:
                anchored.append(name)
    return Generalised(found, tuple(anchored), names)


def _mean(column: NumericColumn, single: bool) -> Column:
    mean = float(np.mean(np.sort(column.numbers)))
    return NumericColumn(np.full(len(column), float(np.float32(mean)) if single else mean))


def _named(column: CategoricalColumn, choices: Sequence[Choice]) -> Column:
    """Keep the names that a split asks for; a multiway split asks for all. A single other value keeps its name too."""
    kept = {value for choice in choices for value in choice.values}
    others = [value for value in column.categories if value not in kept]
    if any(choice.is_fine for choice in choices) or (kept and len(others) == 1):
        return column
    return _renamed(column, {v: v if v in kept else ANY for v in column.categories})


def _renamed(column: CategoricalColumn, names: Mapping[str, str]) -> Column:
    categories = tuple(sorted(set(names.values())))
    recode = np.array([categories.index(names[v]) for v in column.categories], dtype=np.int64)
    return CategoricalColumn(codes=recode[column.codes], categories=categories)


def _cut(
    column: NumericColumn, cuts: Sequence[Cut], as_published: bool, single: bool
) -> tuple[Column, bool]:
    distinct, place, counts = np.unique(column.numbers, return_inverse=True, return_counts=True)
    if as_published:
        values = as_printed(distinct, counts.astype(np.float64), cuts)
        return NumericColumn(values[place.reshape(-1)]), False
    cells = one_per_cell(distinct, cuts, single)
    return NumericColumn(cells.values[place.reshape(-1)]), bool(cells.anchored)
