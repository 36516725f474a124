"""Spreads people over leaves with the greatest entropy: matrix scaling, with a bound on how far it is from the optimum.

The optimum of -sum w ln(w / n) over tables of given margins is w = a_k b_l n. It is found by a few sweeps that scale
rows and columns in turn, and Newton's method on the dual in one side's multipliers. Multipliers (u, v) give
Z = exp(u + v); a table P of exact margins near it proves D(P || P*) <= sum P ln(P / Z) - P + Z, the optimum P* among
the tables of these margins.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from treewarden.audit.partial.fitting.flows import Network
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

SWEEPS = 30
STEPS = 60
GAP = 1e-9
"""A block is decided where its proved distance from the optimum is at most this, in records times nats."""
CLOSE = 1e-13
"""Columns are scaled where they are this near to their demand, in shares of the largest."""
FARTHEST = 20.0
"""How far a step may move the logarithm of a multiplier."""
SMALL = 4_096
"""Cells of a block up to which it is kept as an array: for so few, sparse matrices take longer."""
SPARSE_BELOW = 0.05
"""Share of cells that can hold somebody below which the matrix of a direct step is kept sparse."""
MOST_DENSE = 30_000_000
"""Cells of such a matrix up to which it may be dense: 240 MB."""
DIRECT = 60
"""Columns of a block up to which Newton's steps are solved for directly."""
COARSEST, FINEST = 0.1, 1e-4
"""How exactly steps are solved for otherwise, in shares of what they are to mend: the nearer the end, the finer."""
LARGEST = 16
"""Cells for each row and column that a tree is looked for in first, beside the largest of each."""
GRADIENTS = 200
"""Conjugate gradients after which a step is solved for directly instead."""


@dataclass(frozen=True, slots=True)
class FittedMargins:
    """How people of each lump are spread over groups of leaves, (S, G), people, and how well that is proved.

    ``gap`` (S,) bounds, in records times nats, how far the block of each lump is from the optimum; infinite where
    nothing was proved. ``steps`` is how many Newton steps were taken in all.
    """

    people: sparse.csr_array
    gap: FloatArray
    steps: int


def fit_margins(net: Network) -> FittedMargins:
    """Return the maximum-entropy spread of a network, block by block."""
    net.movable.sort_indices()
    arcs = net.movable.tocoo()
    row, column = arcs.row.astype(np.intp), arcs.col.astype(np.intp)
    block = net.block_of_lump[row]
    count = 1 + int(max(net.block_of_lump.max(initial=-1), net.block_of_group.max(initial=-1)))
    total = np.bincount(net.block_of_group, net.demand, count)
    # Where everybody of a block can be everywhere in it, as where it is of one lump or one group.
    people = net.supply[row] * (net.demand[column] / total[block])
    lumps, groups, cells = (
        np.bincount(each, minlength=count)
        for each in (net.block_of_lump, net.block_of_group, block)
    )
    left = np.flatnonzero((cells != lumps * groups)[block])
    left = left[np.argsort(block[left], kind="stable")]
    gap, steps = np.zeros(len(net.supply)), 0
    for own in np.split(left, np.flatnonzero(np.diff(block[left])) + 1) if len(left) else ():
        (here, at), (there, to) = (
            np.unique(each[own], return_inverse=True) for each in (row, column)
        )
        pattern = sparse.csr_array((np.ones(len(own)), (at, to)), shape=(len(here), len(there)))
        margin_table = _block(pattern, net.supply[here], net.demand[there])
        people[own] = np.asarray(margin_table.table[at, to]).ravel()
        gap[here] = margin_table.gap
        steps += margin_table.steps
    table = sparse.csr_array((people, (row, column)), shape=net.movable.shape)
    return FittedMargins(table, gap, steps)


@dataclass(frozen=True, slots=True)
class _MarginTable:
    table: sparse.csr_array
    gap: float
    steps: int = 0


def weighed(
    weights: sparse.csr_array, supply: FloatArray, demand: FloatArray
) -> tuple[sparse.csr_array, float]:
    """Return the table of one block with these margins that is nearest to weights, a_k b_l times them, and its gap."""
    margin_table = _block(weights, supply, demand, is_weighed=True)
    return margin_table.table, margin_table.gap


def _block(
    pattern: sparse.csr_array, supply: FloatArray, demand: FloatArray, *, is_weighed: bool = False
) -> _MarginTable:
    """Return the table of one block with these margins; both sides have somebody, and every cell can be positive."""
    size = pattern.shape[0] * pattern.shape[1]
    if min(pattern.shape) == 1 or (pattern.nnz == size and not is_weighed):
        cells = pattern.tocoo()
        held = supply[cells.row] * (demand / demand.sum())[cells.col]
        return _MarginTable(
            sparse.csr_array((held, (cells.row, cells.col)), shape=pattern.shape), 0.0
        )
    if pattern.shape[1] > pattern.shape[0]:
        margin_table = _block_by_columns(sparse.csr_array(pattern.T), demand, supply)
        return _MarginTable(
            sparse.csr_array(margin_table.table.T), margin_table.gap, margin_table.steps
        )
    return _block_by_columns(pattern, supply, demand)


def _block_by_columns(
    pattern: sparse.csr_array, supply: FloatArray, demand: FloatArray
) -> _MarginTable:
    """Return the table of a block that has at least as many rows as columns, by the columns' multipliers."""
    is_small = pattern.shape[0] * pattern.shape[1] <= SMALL
    weights = pattern.toarray() if is_small else pattern
    across = weights.T if isinstance(weights, np.ndarray) else sparse.csr_array(weights.T)
    dual = _BlockDual(weights, across, supply, demand)
    log_v = np.zeros(len(demand))
    for _ in range(SWEEPS):
        col = dual.at(log_v).col
        if np.abs(col - demand).max() <= CLOSE * demand.max():
            break
        log_v += np.log(demand / col)
        log_v -= log_v.max()
    steps = 0
    while steps < STEPS:
        here = dual.at(log_v)
        value, slope = dual.value(log_v), here.col - demand
        if np.abs(slope).max() <= CLOSE * demand.max():
            break
        move = dual.newton(here, slope)
        expected = float(slope @ move)
        if not np.isfinite(expected) or expected >= 0:
            break
        # Where the dual is flat, a step may lead where everything but rounding is lost.
        length = FARTHEST / max(float(np.abs(move).max()), FARTHEST)
        shortest = 1e-6 * length
        while length > shortest:
            new = dual.value(log_v + length * move)
            if new <= value + 1e-4 * length * expected + 1e-15 * abs(value):
                break
            length /= 2
        steps += 1
        if length <= shortest:
            break
        log_v = log_v + length * move
        log_v -= log_v.max()
        if -expected <= 1e-22 * demand.sum():
            break
    found = sparse.csr_array(dual.table(dual.at(log_v)))
    return _MarginTable(*_repaired(found, supply, demand), steps)


@dataclass(frozen=True, slots=True)
class _Scaling:
    """What rows and columns are scaled by, and the column sums of the table that this makes; its row sums are right."""

    rows: FloatArray
    columns: FloatArray
    col: FloatArray


@dataclass(frozen=True, slots=True)
class _BlockDual:
    """The dual of a block in the logarithms of its columns' multipliers: its weights, those transposed, its margins."""

    weights: FloatArray | sparse.csr_array
    across: FloatArray | sparse.csr_array
    supply: FloatArray
    demand: FloatArray

    def at(self, log_v: FloatArray) -> _Scaling:
        """Return the table at these multipliers."""
        columns = np.exp(log_v)
        rows = self.supply / (self.weights @ columns)
        return _Scaling(rows, columns, columns * (self.across @ rows))

    def value(self, log_v: FloatArray) -> float:
        """Return the dual; infinite where multipliers are so far apart that a row vanishes beside others."""
        top = log_v.max()
        reached = self.weights @ np.exp(log_v - top)
        if not (reached > 0).all():
            return np.inf
        return float(self.supply @ (np.log(reached) + top) - self.demand @ log_v)

    def table(self, here: _Scaling) -> FloatArray | sparse.csr_array:
        """Return the cells of a table."""
        if isinstance(self.weights, np.ndarray):
            return here.rows[:, None] * self.weights * here.columns
        scaled = sparse.diags_array(here.rows) @ self.weights @ sparse.diags_array(here.columns)
        return sparse.csr_array(scaled)

    def newton(self, here: _Scaling, slope: FloatArray) -> FloatArray:
        """Return a step down the dual, along which adding one number to all multipliers changes nothing; 0 for none."""
        if not np.isfinite(slope).all():
            return np.zeros(len(slope))
        if len(slope) > DIRECT:
            near = np.abs(slope).max() / self.demand.max()
            move = self._by_gradients(here, slope, min(max(near, FINEST), COARSEST))
            if move is not None:
                return move
        return self._direct(here, slope)

    def _by_gradients(
        self, here: _Scaling, slope: FloatArray, accuracy: float
    ) -> FloatArray | None:
        """Return a step by conjugate gradients, scaled by the column sums; None where many of them do not do."""
        move, lacks = np.zeros(len(slope)), -slope
        scaled = lacks / here.col
        along, size = scaled, float(lacks @ scaled)
        wanted = accuracy * accuracy * size
        for _ in range(GRADIENTS):
            there = self.weights @ (here.columns * along)
            back = here.columns * (self.across @ (there * here.rows * here.rows / self.supply))
            bent = here.col * along - back
            curve = float(along @ bent)
            if not curve > 0:
                return None
            move = move + size / curve * along
            lacks = lacks - size / curve * bent
            scaled = lacks / here.col
            before, size = size, float(lacks @ scaled)
            if size <= wanted:
                return move
            along = scaled + size / before * along
        return None

    def _direct(self, here: _Scaling, slope: FloatArray) -> FloatArray:
        """Return a step by the matrix of second derivatives; the first multiplier stays."""
        move, z, col = np.zeros(len(slope)), self.table(here), here.col * (1 + 1e-14)
        if isinstance(z, np.ndarray):
            curve = np.diag(col) - z.T @ (z / self.supply[:, None])
        else:
            squares = z.T @ (sparse.diags_array(1 / self.supply) @ z)
            is_sparse = z.nnz < SPARSE_BELOW * len(self.supply) * len(slope)
            if is_sparse or len(slope) ** 2 > MOST_DENSE:
                curve = sparse.csc_array(sparse.diags_array(col) - squares)
                with contextlib.suppress(RuntimeError):  # it is singular: there is no step
                    move[1:] = splu(curve[1:, 1:]).solve(-slope[1:])
                return move
            curve = np.diag(col) - squares.toarray()
        try:
            move[1:] = linalg.cho_solve(linalg.cho_factor(curve[1:, 1:]), -slope[1:])
        except linalg.LinAlgError:
            move[1:] = linalg.lstsq(curve[1:, 1:], -slope[1:])[0]
        return move


def _repaired(
    z: sparse.csr_array, supply: FloatArray, demand: FloatArray
) -> tuple[sparse.csr_array, float]:
    """Return the table of exact margins nearest along a spanning tree, and what it proves; infinite where none is.

    What rows and columns lack is carried along the tree of the largest cells, leaf by leaf.
    """
    rows, columns = z.shape
    lacks = np.concatenate([supply - z.sum(axis=1), demand - z.sum(axis=0)])
    order, above = _tree_of_largest(z)
    if len(order) < rows + columns:
        return z, np.inf
    carried = lacks.copy()
    moved = np.zeros(rows + columns)
    for node in order[:0:-1].tolist():
        # A cell gets what its lower end lacks; its upper end then needs so much less.
        moved[node] = carried[node]
        carried[above[node]] -= carried[node]
    kept = order[1:]
    one = np.where(kept < rows, kept, above[kept])
    other = np.where(kept < rows, above[kept], kept) - rows
    change = sparse.csr_array((moved[kept], (one, other)), shape=z.shape)
    table = sparse.csr_array(z + change)
    before, after = np.asarray(z[one, other]).ravel(), np.asarray(table[one, other]).ravel()
    if (after < 0).any():
        return z, np.inf
    share = moved[kept] / before
    terms = before * ((1 + share) * np.log1p(share) - share)
    return table, float(np.maximum(terms, 0.0).sum())


def _tree_of_largest(z: sparse.csr_array) -> tuple[IndexArray, IndexArray]:
    """Return the lines of a table in the order of a walk along a tree of its largest cells, and whence each is reached.

    Columns come after rows. Of a table that is in parts, only the lines of the first row's part are in the order.
    """
    cells, (rows, columns) = z.tocoo(), z.shape
    of_row, of_column = np.zeros(rows), np.zeros(columns)
    np.maximum.at(of_row, cells.row, cells.data)
    np.maximum.at(of_column, cells.col, cells.data)
    few = min(LARGEST * (rows + columns), cells.nnz)
    # To sort all cells takes long, and as a rule these lead everywhere.
    is_large = cells.data >= np.partition(cells.data, -few)[-few]
    is_large |= (cells.data == of_row[cells.row]) | (cells.data == of_column[cells.col])
    for tried in (is_large, np.ones(cells.nnz, dtype=bool)):
        able = np.flatnonzero(tried & (cells.data > 0))
        graph = sparse.coo_array(
            (1 / cells.data[able], (cells.row[able], rows + cells.col[able])),
            shape=(rows + columns, rows + columns),
        )
        tree = csgraph.minimum_spanning_tree(graph.tocsr())
        order, above = csgraph.breadth_first_order(tree, 0, directed=False)
        if len(order) == rows + columns:
            break
    return order, above
