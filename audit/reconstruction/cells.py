"""Cells: the points of the public domain that end in equal leaves of all trees, and which no file can tell apart.

A point stays only while some class of records is counted in each of its leaves: after some trees few points of a large
domain are left. Where the domain has too many points to list, boxes of points are parted by one tree after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.domain import Domain
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, alike
from treewarden.ppdm_models.tables.routing import Router
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.tree import Tree

MOST_POINTS = 2**20
"""A domain of so many points is listed; of a larger one boxes are parted, if they stay few enough."""
SEEN_SHARE = 0.7
"""Points that dropped out are forgotten once no more than this share is left."""
TOO_MANY = Undetermined(
    f"the columns that its trees test have more than {MOST_POINTS:,} combinations that its leaves allow: too many to "
    "list; a smaller public domain (--domain) may decide it"
)
NO_TIME = Undetermined("the time limit ended before the combinations of values were listed")


@dataclass(frozen=True, slots=True, eq=False)
class NodeRecords:
    """What one tree publishes of how many records each node has, by class: (N, m), NaN where that is withheld.

    ``is_leaf`` (N,) says which nodes are leaves: records stop nowhere else.
    """

    counts: FloatArray
    is_leaf: BoolArray

    @property
    def may_hold(self) -> BoolArray:
        """Whether a record of each class may stop at each node, (N, m)."""
        return np.asarray(self.is_leaf[:, None] & (self.counts != 0))


@dataclass(frozen=True, slots=True, eq=False)
class DomainCells:
    """C cells of a domain. ``stops`` (T, C) is the leaf of each by tree, ``alive`` (C, m) which classes it may have.

    ``point`` (D,) are the points that any cell holds, as numbers of the domain's ``shape``, and ``cell`` (D,) their
    cells, in order.
    """

    domain: Domain
    stops: IndexArray
    alive: BoolArray
    point: IntArray
    cell: IndexArray

    def options_of(self, cell: int) -> list[list[int]]:
        """Return, for each factor of the domain, the options that some point of a cell has."""
        start, stop = np.searchsorted(self.cell, [cell, cell + 1])
        codes = np.unravel_index(self.point[start:stop], self.domain.shape)
        return [np.unique(code).tolist() for code in codes]

    @property
    def sizes(self) -> FloatArray:
        """How many values each cell stands for, (C,): infinite where nobody can count them."""
        sizes = np.ones(len(self.point))
        codes = np.unravel_index(self.point, self.domain.shape)
        for factor, code in zip(self.domain.factors, codes, strict=True):
            sizes *= factor.sizes[code]
        found = np.bincount(self.cell, sizes, minlength=self.stops.shape[1])
        return np.asarray(found, dtype=np.float64)

    def is_one_option(self) -> BoolArray:
        """Return whether all points of each cell have one option of each factor, (C, F)."""
        starts = np.searchsorted(self.cell, np.arange(self.stops.shape[1]))
        codes = np.unravel_index(self.point, self.domain.shape)
        ends = [
            np.minimum.reduceat(code, starts) == np.maximum.reduceat(code, starts) for code in codes
        ]
        return np.stack(ends, axis=1) if ends else np.ones((len(starts), 0), dtype=bool)


def find_cells(
    trees: Sequence[Tree], leaves: Sequence[NodeRecords], domain: Domain, until: Clock
) -> DomainCells | Undetermined:
    """Return the cells of a domain in which some record may be, or why they cannot be listed."""
    if domain.points > MOST_POINTS:
        return TOO_MANY
    points = np.arange(domain.points, dtype=np.int64)
    alive = np.ones((len(points), leaves[0].counts.shape[1]), dtype=bool)
    router = Router(_columns(domain, points))
    for tree, leaf_counts in zip(trees, leaves, strict=True):
        if until.is_over:
            return NO_TIME
        alive &= _allowed(router.routed(tree)[0], leaf_counts)
        is_left = alive.any(axis=1)
        if is_left.sum() <= SEEN_SHARE * len(points):
            points, alive = points[is_left], alive[is_left]
            router = Router(_columns(domain, points))
    is_left = alive.any(axis=1)
    points, alive = points[is_left], alive[is_left]
    router = Router(_columns(domain, points))
    stops = np.stack([router.routed(tree)[0] for tree in trees])
    return _grouped(domain, points, alive, stops)


def _columns(domain: Domain, points: IntArray) -> dict[str, Column]:
    """Return a value of each column for each point."""
    codes = np.unravel_index(points, domain.shape)
    return {
        name: options.samples.take(code)
        for factor, code in zip(domain.factors, codes, strict=True)
        for name, options in factor.columns.items()
    }


def _allowed(stops: IndexArray, leaf_counts: NodeRecords) -> BoolArray:
    """Return which classes a record of each point may have by one tree, (D, m); none where it stops in no leaf."""
    found = leaf_counts.may_hold[np.maximum(stops, 0)]
    found[stops < 0] = False
    return found


def _grouped(domain: Domain, points: IntArray, alive: BoolArray, stops: IndexArray) -> DomainCells:
    if not len(points):
        nothing = np.zeros(0, dtype=np.intp)
        return DomainCells(domain, stops, alive, points, nothing)
    first, cell = alike(list(stops))
    order = np.argsort(cell, kind="stable")
    return DomainCells(domain, stops[:, first], alive[first], points[order], cell[order])
