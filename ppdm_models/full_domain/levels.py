"""One attribute of a table on every level of its hierarchy: which values can still be told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import IndexArray, IntArray
from treewarden.ppdm_models.records.taxonomy import EVERYTHING, Categories, Intervals, Taxonomy
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn, number_text


@dataclass(frozen=True, slots=True)
class Ladder:
    """An attribute on levels 0, its own values, to ``height``.

    ``codes`` hold for each level where each record falls, shape (N,); ``labels`` what each code is called. With
    ``places`` they are of the attribute's different values, and those say which one each of N rows has.
    """

    name: str
    codes: tuple[IntArray, ...]
    labels: tuple[tuple[str, ...], ...]
    places: IndexArray | None = None

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.labels) - 1

    def at(self, level: int) -> IntArray:
        """Return where each row falls on a level, shape (N,)."""
        codes = self.codes[level]
        return codes if self.places is None else np.asarray(codes[self.places])

    def column(self, level: int) -> CategoricalColumn:
        """Return the attribute generalised to a level."""
        return CategoricalColumn(codes=self.at(level), categories=self.labels[level])

    def take(self, rows: IndexArray) -> Ladder:
        """Return the attribute of some of the records."""
        if self.places is not None:
            return self.placed(self.places[rows])
        return Ladder(self.name, tuple(codes[rows] for codes in self.codes), self.labels)

    def placed(self, places: IndexArray) -> Ladder:
        """Return the attribute of rows that have its different values in some places."""
        return Ladder(self.name, self.codes, self.labels, places)


def ladder(name: str, column: Column, taxonomy: Taxonomy | None = None) -> Ladder:
    """Return an attribute on the levels of its hierarchy; without one it is kept (level 0) or all made one (level 1).

    The column must lack no value, and the hierarchy be of its kind.

    Raises:
        TaxonomyError: the hierarchy lacks a value.
    """
    if column.missing.any():
        raise ValueError(f"column {name!r} lacks a value")
    places, levels = (
        _numbers(column, taxonomy)
        if isinstance(column, NumericColumn)
        else _names(column, taxonomy)
    )
    codes, labels = [], []
    for said in levels:
        known = {label: code for code, label in enumerate(dict.fromkeys(said))}
        codes.append(np.array([known[label] for label in said], dtype=np.int64)[places])
        labels.append(tuple(known))
    return Ladder(name, tuple(codes), tuple(labels))


def _numbers(
    column: NumericColumn, taxonomy: Taxonomy | None
) -> tuple[IndexArray, list[list[str]]]:
    distinct, places = np.unique(column.numbers, return_inverse=True)
    values = [float(value) for value in distinct]
    if isinstance(taxonomy, Intervals):
        heights = range(taxonomy.height + 1)
        return places, [[taxonomy.label(value, level) for value in values] for level in heights]
    if taxonomy is not None:
        raise ValueError(f"{taxonomy.attribute!r} holds numbers, its hierarchy categories")
    return places, [[number_text(value) for value in values], [EVERYTHING] * len(values)]


def _names(
    column: CategoricalColumn, taxonomy: Taxonomy | None
) -> tuple[IndexArray, list[list[str]]]:
    used, places = np.unique(column.codes, return_inverse=True)
    values = [column.categories[code] for code in used]
    if isinstance(taxonomy, Categories):
        heights = range(taxonomy.height + 1)
        return places, [[taxonomy.label(value, level) for value in values] for level in heights]
    if taxonomy is not None:
        raise ValueError(f"{taxonomy.attribute!r} holds categories, its hierarchy intervals")
    return places, [values, [EVERYTHING] * len(values)]
