"""The problem of a file without a table: how many records of each class each cell of the domain has.

Groups are cells, alternatives the classes, and one more: that a place for a record stays empty, as nobody knows how
many records a cell has. Each published count of a node is a row over the cells below it. A multiset of records fits the
counts of trees that were grown on all of them if, and only if, it fulfils these rows in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.engine.problem import Problem
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import NO_COUNTS, DomainCells, NodeRecords
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.plain_splits import class_counts_of, is_inner, totals_of
from treewarden.ppdm_models.tree.tree import Tree

EMPTY = 0
"""The alternative of a place that no record has; those of the classes follow."""
WHOLE_SLACK = 1e-6
"""A published count is taken for a whole number where it is so near to one."""
LARGEST = 2**40
NOT_WHOLE = Undetermined("its counts are no whole numbers of records")
NOT_ALL = Undetermined("its trees count different records, so they do not belong to one table")
STOP_ABOVE = Undetermined("some of its records stop above the leaves, or its counts do not add up")
NO_RECORD = "no table within the public domain has the counts of the file"


def read_counts(trees: Sequence[Tree]) -> list[NodeRecords] | Undetermined:
    """Return how many records of each class each node has, by tree; of one class where none is counted.

    Where a tree publishes sizes only, all records are of one kind: then nothing is said of their classes.
    """
    by_class = [class_counts_of(tree, np.arange(len(tree.nodes))) for tree in trees]
    has_classes = all(tree.classes for tree in trees) and not any(
        np.isnan(counts).all() for counts in by_class
    )
    if not has_classes:
        by_class = [totals_of(tree)[:, None] for tree in trees]
    found, everybody = [], []
    for tree, counts in zip(trees, by_class, strict=True):
        is_told = ~np.isnan(counts)
        if not is_told.any():
            return NO_COUNTS
        whole = np.rint(counts)
        if (np.abs(counts - whole) > WHOLE_SLACK)[is_told].any() or (whole[is_told] < 0).any():
            return NOT_WHOLE
        if (whole[is_told] > LARGEST).any():
            return NOT_WHOLE
        inner, parents = is_inner(tree), parents_of(tree.nodes)
        whole = _with_nobody_below(parents, whole)
        if not _adds_up(parents, whole, inner):
            return STOP_ABOVE
        everybody.append(whole[0])
        found.append(NodeRecords(whole, ~inner))
    known = np.stack(everybody)
    if (np.nanmax(known, axis=0, initial=-1) > np.nanmin(known, axis=0, initial=np.inf)).any():
        return NOT_ALL
    return found


def _with_nobody_below(parents: IndexArray, counts: FloatArray) -> FloatArray:
    """Return counts in which nodes that withhold theirs have 0 below a node of 0; nodes stand behind their parents."""
    found = counts.copy()
    for node in np.flatnonzero(np.isnan(counts).any(axis=1)).tolist():
        if node:
            found[node, np.isnan(found[node]) & (found[parents[node]] == 0)] = 0
    return found


def _adds_up(parents: IndexArray, counts: FloatArray, inner: np.ndarray) -> bool:
    """Whether each inner node holds what its children hold, where all of them say it."""
    below = np.zeros_like(counts)
    np.add.at(below, parents[1:], counts[1:])
    is_known = inner[:, None] & ~np.isnan(counts) & ~np.isnan(below)
    return bool((below[is_known] == counts[is_known]).all())


@dataclass(frozen=True, slots=True, eq=False)
class CellRows:
    """Rows over numbers of records by cell and class, taken flat (C m,): ``matrix`` (R, C m) of ones, each ``count``.

    ``trees`` and ``nodes`` (R,) are where each stands in the file; ``most`` (C, m) is the least count of a row that
    each number is in.
    """

    matrix: sparse.csr_array
    count: IntArray
    trees: IndexArray
    nodes: IndexArray
    most: IntArray

    def fits(self, table: IntArray) -> bool:
        """Whether a table, numbers of records by cell and class (C, m), has the counts."""
        is_inside = ((table >= 0) & (table <= self.most)).all()
        return bool(is_inside and (self.matrix @ table.reshape(-1) == self.count).all())

    def problem(self) -> Problem:
        """Return the rows as the engine's problem, with the places that stay empty."""
        classes = self.most.shape[1]
        width = max(classes + 1, 3)
        cell, code = np.divmod(self.matrix.indices.astype(np.int64), classes)
        shape = (len(self.count), len(self.most) * width)
        entries = (self.matrix.data, cell * width + 1 + code, self.matrix.indptr)
        allowed = np.zeros((len(self.most), width), dtype=bool)
        allowed[:, EMPTY] = True
        allowed[:, 1 : 1 + classes] = self.most > 0
        return Problem(
            matrix=sparse.csr_array(entries, shape=shape),
            low=self.count,
            high=self.count,
            output=np.zeros(len(self.count), dtype=np.intp),
            trees=self.trees,
            nodes=self.nodes,
            sizes=self.most.sum(axis=1),
            classes=width,
            allowed=allowed,
        )


def rows_of(
    trees: Sequence[Tree], leaves: Sequence[NodeRecords], cells: DomainCells
) -> CellRows | Undetermined:
    """Return a row for each count of a file that is above 0.

    Raises:
        ContradictionError: a count is of cells that cannot be.
    """
    size, classes = cells.alive.shape
    parts = [
        part
        for number, (tree, leaf_counts) in enumerate(zip(trees, leaves, strict=True))
        for part in _rows_of_tree(number, tree, leaf_counts, cells)
    ]
    total = len(parts)
    counts = np.array([part.count for part in parts], dtype=np.int64)
    most = np.full(size * classes, np.iinfo(np.int64).max)
    for part in parts:
        if not len(part.places):
            raise ContradictionError(NO_RECORD)
        most[part.places] = np.minimum(most[part.places], part.count)
    most[~cells.alive.reshape(-1)] = 0
    if (most == np.iinfo(np.int64).max).any():
        return NO_COUNTS
    lengths = [len(part.places) for part in parts]
    matrix = sparse.csr_array(
        (
            np.ones(sum(lengths), dtype=np.int64),
            np.concatenate([part.places for part in parts])
            if parts
            else np.zeros(0, dtype=np.intp),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(total, size * classes),
    )
    return CellRows(
        matrix=matrix,
        count=counts,
        trees=np.array([part.tree for part in parts], dtype=np.intp),
        nodes=np.array([part.node for part in parts], dtype=np.intp),
        most=most.reshape(size, classes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CellRow:
    """One count of one node, and the places (of cells and classes, flat) that it is about."""

    tree: int
    node: int
    count: int
    places: IndexArray


def _rows_of_tree(
    number: int, tree: Tree, leaf_counts: NodeRecords, cells: DomainCells
) -> Iterator[_CellRow]:
    """Yield the counts of leaves, and of inner nodes that say more than the nodes below them."""
    classes = cells.alive.shape[1]
    inside = _cells_below(tree, leaf_counts, cells.stops[number])
    for node, below in inside:
        for code in range(classes):
            count = leaf_counts.counts[node, code]
            if np.isnan(count) or count == 0:
                continue
            here = below[cells.alive[below, code]]
            yield _CellRow(number, node, int(count), here * classes + code)


def _cells_below(
    tree: Tree, leaf_counts: NodeRecords, stops: IndexArray
) -> Iterator[tuple[int, IndexArray]]:
    """Yield each node whose counts are needed, and the cells below it."""
    order = np.argsort(stops, kind="stable")
    nodes = np.flatnonzero(leaf_counts.is_leaf)
    starts = np.searchsorted(stops[order], nodes)
    ends = np.searchsorted(stops[order], nodes, side="right")
    for node, start, end in zip(nodes.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield node, order[start:end]
    withheld = np.isnan(leaf_counts.counts).any(axis=1)
    parents = parents_of(tree.nodes)
    above: dict[int, list[int]] = {}
    for node in np.flatnonzero(withheld & leaf_counts.is_leaf).tolist():
        while node > 0:
            node = int(parents[node])
            above.setdefault(node, [])
    if not above:
        return
    for leaf in nodes.tolist():
        node = leaf
        while node > 0:
            node = int(parents[node])
            if node in above:
                above[node].append(leaf)
    for node, below in above.items():
        yield node, np.flatnonzero(np.isin(stops, below))
