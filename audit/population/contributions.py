"""What each record adds to the totals of leaves, and whose record it is: the cells of a table of magnitudes.

Which profiles pass each node: those that stop there or further down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """What the K records of a table that count add to totals, shape (K,) each.

    ``rows`` are their rows of the table, ``profiles`` the profile of each. A row stands for ``people``, each of whom
    adds one of ``amounts``: the number that the model predicts. ``weights`` are the sampling weights, None where each
    person counts once. ``contributors`` says whose record each is, None where each is somebody else's.
    """

    rows: IndexArray
    profiles: IndexArray
    people: FloatArray
    amounts: FloatArray | None
    weights: FloatArray | None = None
    contributors: IndexArray | None = None


def contributors_of(table: Table, name: str, rows: IndexArray) -> tuple[IndexArray, int]:
    """Return whose record each of these rows is, (K,), and how many contributors have several.

    Raises:
        TableError: there is no such column, or one of the rows says nothing.
    """
    if name not in table.columns:
        problem = f"{table.lacks(name)}; name the column that identifies a person: --id COLUMN"
        raise TableError(table.source, problem)
    column = table.categories(name)
    is_blank = np.array([not text.strip() for text in (*column.categories, "")], dtype=bool)
    unnamed: BoolArray = (column.missing | is_blank[column.codes])[rows]
    if unnamed.any():
        place = table.place(int(rows[np.flatnonzero(unnamed)[0]]))
        problem = (
            f"column {name!r}, {place}: no value, so the person is unknown; give the record an id"
        )
        raise TableError(table.source, problem)
    codes = np.asarray(column.codes[rows], dtype=np.intp)
    return codes, int((np.bincount(codes) > 1).sum())


# The contributions to one leaf after the other, largest first: what rules of concentration are about.


@dataclass(frozen=True, slots=True, eq=False)
class RankedContributions:
    """The contributions to each of ``cells`` totals, shape (R,) each, by cell and there from the largest on.

    In the cell of an entry, ``units`` contributors add one of ``amounts`` each, and ``before`` add as much or more.
    """

    cells: int
    cell: IndexArray
    amounts: FloatArray
    units: FloatArray
    before: FloatArray

    @property
    def totals(self) -> FloatArray:
        """The total of each cell, (cells,)."""
        return self._sums(self.units)

    @property
    def contributors(self) -> FloatArray:
        """How many contribute to each cell, (cells,)."""
        return np.bincount(self.cell, self.units, self.cells).astype(np.float64)

    def largest(self, contributors: int) -> FloatArray:
        """Return what so many of the largest contributors to each cell add together, (cells,)."""
        return self._sums(np.clip(contributors - self.before, 0.0, self.units))

    def without_largest(self, contributors: int) -> FloatArray:
        """Return what all others add, (cells,); summed by itself, so that nothing is lost to a large total."""
        return self._sums(self.units - np.clip(contributors - self.before, 0.0, self.units))

    def _sums(self, units: FloatArray) -> FloatArray:
        return np.bincount(self.cell, self.amounts * units, self.cells).astype(np.float64)


def ranked_contributions(
    cell: IndexArray, amounts: FloatArray, units: FloatArray, cells: int
) -> RankedContributions:
    """Return contributions (R,) to the ``cell`` of each, (R,), in order."""
    order = np.lexsort((-amounts, cell))
    cell, amounts, units = cell[order], amounts[order], units[order]
    ends = np.concatenate([[0.0], np.cumsum(units)])
    first = np.searchsorted(cell, np.arange(cells))
    return RankedContributions(cells, cell, amounts, units, ends[:-1] - ends[first][cell])


def by_contributor(
    cell: IndexArray, amounts: FloatArray, contributors: IndexArray, cells: int
) -> RankedContributions:
    """Return what each contributor adds to each cell with all of its records, in order."""
    size = int(contributors.max(initial=0)) + 1
    pairs, place = np.unique(cell * size + contributors, return_inverse=True)
    sums = np.bincount(place.reshape(-1), amounts, len(pairs)).astype(np.float64)
    return ranked_contributions((pairs // size).astype(np.intp), sums, np.ones(len(pairs)), cells)


@dataclass(frozen=True, slots=True)
class Members:
    """Profiles in the order of the nodes where they stop, so that each subtree is one slice."""

    order: IndexArray
    start: IndexArray
    end: IndexArray
    own_end: IndexArray

    def of(self, node: int) -> IndexArray:
        """Return the profiles that pass a node, shape (K,)."""
        return self.order[self.place(node)]

    def place(self, node: int) -> slice:
        """Return where the profiles that pass a node lie in what is put in this order."""
        return slice(int(self.start[node]), int(self.end[node]))

    def stops(self, node: int) -> IndexArray:
        """Return the profiles that stop at a node, shape (K,)."""
        return self.order[self.start[node] : self.own_end[node]]


def members(tree: Tree, leaf: IndexArray) -> Members:
    """Return the profiles of every node, given the node where each profile stops, shape (P,)."""
    rank = np.zeros(len(tree.nodes), dtype=np.intp)
    for position, node in enumerate(tree.below(0)):
        rank[node.index] = position
    size = np.ones(len(tree.nodes), dtype=np.intp)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            size[node.parent] += size[node.index]
    order = np.argsort(rank[leaf], kind="stable")
    ranked = rank[leaf][order]
    return Members(
        order,
        np.searchsorted(ranked, rank, side="left").astype(np.intp),
        np.searchsorted(ranked, rank + size, side="left").astype(np.intp),
        np.searchsorted(ranked, rank, side="right").astype(np.intp),
    )
