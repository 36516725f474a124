"""Cells of people whom no leaf tells apart, and the rows that the sums of all leaves are over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from audit.inverters import LeafSums
from audit.joint.rows import JointRows
from audit.joint.scaled import scaled_of
from audit.reading import Undetermined
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

ALL_PEOPLE = -1
"""The tree of a row that is about everybody."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Which cell each profile is in, shape (P,), the people of each cell (C,), and one profile of each (C,)."""

    of: IndexArray
    sizes: IntArray
    first: IndexArray

    def summed(self, truth: FloatArray) -> IntArray:
        """Return the people of each cell and class, shape (C, m), from those of each profile."""
        found = np.zeros((len(self.sizes), truth.shape[1]))
        np.add.at(found, self.of, truth)
        return np.rint(found).astype(np.int64)


def cells_of(stops: IndexArray, people: FloatArray) -> Cells:
    """Return the cells of profiles that stop at ``stops`` (T, P), of trees of one model or of several."""
    of = np.zeros(stops.shape[1], dtype=np.intp)
    for stopped in stops:
        both = of * (int(stopped.max(initial=0)) + 1) + stopped
        of = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.intp)
    _, first = np.unique(of, return_index=True)
    return Cells(of, np.rint(np.bincount(of, people)).astype(np.int64), first)


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """One published model: where profiles stop in its trees (T, P), and what its leaves say.

    ``first_tree`` is its place among all trees of all releases.
    """

    stops: IndexArray
    sums: LeafSums
    first_tree: int = 0


def first_trees(sums: LeafSums, trees: int) -> LeafSums:
    """Return what the leaves of the first trees say."""
    kept = sums.trees < trees
    columns = ("trees", "nodes", "output", "low", "high", "wide")
    added = tuple(each for each in sums.added if each.tree < trees)
    return replace(sums, added=added, **{name: getattr(sums, name)[kept] for name in columns})


def rows_of(releases: Sequence[Release], cells: Cells, classes: int) -> JointRows | Undetermined:
    """Return what the leaves of all releases say of the cells, with a row for the people of each as a whole.

    A row over all people is what one-row reasoning needs to see that one release has somebody more than another.
    """
    parts: list[_Part] = []
    for release in releases:
        parts += _leaves(release, cells)
        totals = _totals(release)
        if isinstance(totals, Undetermined):
            return totals
        parts += totals
    indices = np.concatenate([part.cells(len(cells.sizes)) for part in parts])
    lengths = np.concatenate([part.lengths(len(cells.sizes)) for part in parts])
    ends = np.concatenate(([0], np.cumsum(lengths)))
    matrix = sparse.csr_array(
        (np.ones(len(indices), dtype=np.int64), indices, ends),
        shape=(len(lengths), len(cells.sizes)),
    )
    low, high, output, trees, nodes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("low", "high", "output", "trees", "nodes")
    )
    scaled = scaled_of(
        [each for one in releases for each in one.sums.added], cells.first, cells.sizes
    )
    return JointRows(matrix, low, high, output, trees, nodes, cells.sizes, classes, scaled)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Rows that part the cells: those of one tree and class.

    ``place`` (C,) is each cell's row; None where one row has all of them.
    """

    low: IntArray
    high: IntArray
    output: IndexArray
    trees: IndexArray
    nodes: IndexArray
    place: IndexArray | None

    def cells(self, size: int) -> IndexArray:
        """Return the cells of each row, row by row."""
        if self.place is None:
            return np.arange(size)
        return np.argsort(self.place, kind="stable")

    def lengths(self, size: int) -> IndexArray:
        """Return how many cells each row has."""
        if self.place is None:
            return np.array([size])
        return np.bincount(self.place, minlength=len(self.low))


def _leaves(release: Release, cells: Cells) -> list[_Part]:
    sums, found = release.sums, []
    order = np.lexsort((sums.nodes, sums.output, sums.trees))
    keys = np.stack((sums.trees[order], sums.output[order]))
    cuts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0), True])
    for start, end in zip(cuts[:-1], cuts[1:], strict=True):
        rows = order[start:end]
        stopped = release.stops[sums.trees[rows[0]]][cells.first]
        found.append(
            _Part(
                sums.low[rows],
                sums.high[rows],
                sums.output[rows],
                sums.trees[rows] + release.first_tree,
                sums.nodes[rows],
                np.searchsorted(sums.nodes[rows], stopped),
            )
        )
    return found


def _totals(release: Release) -> list[_Part] | Undetermined:
    """Return how many of all people have each class: what every tree says of it at once."""
    sums, found = release.sums, []
    for output in np.unique(sums.output).tolist():
        here = sums.output == output
        trees = np.unique(sums.trees[here], return_inverse=True)[1].reshape(-1)
        low = int(np.bincount(trees, sums.low[here]).max())
        high = int(np.bincount(trees, sums.high[here]).min())
        if low > high:
            return Undetermined(
                "its trees do not agree on how many people have a class: some of them were grown on other people"
            )
        ends = (np.array([low]), np.array([high]), np.array([output]))
        found.append(_Part(*ends, np.array([ALL_PEOPLE]), np.array([0]), None))
    return found


def breaking(rows: JointRows, truth: IntArray) -> IndexArray:
    """Return the rows that the true values, by cell and class (C, m), do not fulfil."""
    sums = np.empty(len(rows.low), dtype=np.int64)
    for output in np.unique(rows.output).tolist():
        these = np.flatnonzero(rows.output == output)
        sums[these] = rows.matrix[these] @ truth[:, output]
    return np.flatnonzero((sums < rows.low) | (sums > rows.high))


def certain_by_leaf(rows: JointRows, cells: Cells) -> BoolArray:
    """Return which profiles are in a leaf, of any tree, whose people provably all have one class; shape (P,)."""
    people = rows.people
    pure = rows.low == people
    if rows.classes == 2:
        pure |= rows.high == 0
    pure &= rows.trees != ALL_PEOPLE
    return np.asarray((rows.matrix[np.flatnonzero(pure)].sum(axis=0) > 0)[cells.of])
