"""Proofs by weights of rows over amounts: whatever the weights are, what they prove is true.

Let x be what fits, b the rows' sums (between low and high), w any weights. Then

x_c = w·b + (e_c - A'w)·x,

where w·b lies between ends that the rows give, and the last term between ends that the boxes of x give. Where the rows
determine x_c, weights with A'w = e_c leave only what rounding does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from treewarden.audit.engine.amounts import amounts_in
from treewarden.audit.engine.counts import Counts, Propagated
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

MOST_CELLS = 2000
"""So many open cells are solved for at once: as many numbers squared are kept, and their time goes with the cube."""
MOST_ROWS = 3 * MOST_CELLS
RANK = 1e-9
"""What is below that share of the largest is rounding."""
NOTHING = 1e-7
BEYOND = 2.0**62
"""No end of a box is further away."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenCellSolution:
    """What the rows determine of the open cells (N,), which stand at ``cells``.

    ``weights`` (D, R) prove the cells at ``determined`` (D,), of the dense ``matrix`` (R, N) of the rows at ``rows``
    (R,), which are those of the first trees.
    """

    cells: IndexArray
    rows: IndexArray
    matrix: FloatArray
    determined: IndexArray
    weights: FloatArray


def solved(counts: Counts, parts: IndexArray, is_open: BoolArray) -> OpenCellSolution | None:
    """Return what the rows determine of the open cells (C,), or None where these are too many to be solved for.

    ``parts`` is where the rows of each tree begin: these are taken all or none.
    """
    cells = np.flatnonzero(is_open)
    if not 0 < len(cells) <= MOST_CELLS:
        return None
    chosen = _rows_about(counts, parts, cells)
    matrix = counts.matrix[chosen][:, cells].toarray().astype(np.float64)
    q, r, order = linalg.qr(matrix, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > RANK * diagonal[0]).sum())
    square = r[:rank, :rank]
    # What of each pivot follows the other cells: where nothing does, the rows determine it.
    follow = linalg.solve_triangular(square, r[:rank, rank:], check_finite=False)
    fixed = np.flatnonzero((np.abs(follow) < NOTHING).all(axis=1))
    weights = linalg.solve_triangular(square, q[:, :rank].T, check_finite=False)[fixed]
    return OpenCellSolution(cells, chosen, matrix, order[:rank][fixed], weights)


def _rows_about(counts: Counts, parts: IndexArray, cells: IndexArray) -> IndexArray:
    """Return the rows about some cells, of as many trees as need be."""
    is_here = np.zeros(counts.matrix.shape[1], dtype=np.int64)
    is_here[cells] = 1
    about = np.flatnonzero(counts.matrix @ is_here > 0)
    most = min(MOST_ROWS, 4 * len(cells) + 64)
    if len(about) <= most:
        return about
    end = parts[np.searchsorted(parts, about[most], side="right") :]
    return about[about < end[0]] if len(end) else about


def determined(counts: Counts, solution: OpenCellSolution, boxes: Propagated) -> Propagated:
    """Return boxes within the given ones that hold all tables which the given ones hold and which fit."""
    targets = np.zeros((len(solution.determined), len(solution.cells)))
    targets[np.arange(len(targets)), solution.determined] = 1.0
    low, high = boxes.low[:, 0].copy(), boxes.high[:, 0].copy()
    least, most = proved(counts, solution, solution.weights, targets, low, high)
    at = solution.cells[solution.determined]
    low[at], high[at] = np.maximum(low[at], least), np.minimum(high[at], most)
    return Propagated(low[:, None], high[:, None], boxes.row)


def proved(
    counts: Counts,
    solution: OpenCellSolution,
    weights: FloatArray,
    targets: FloatArray,
    low: IntArray,
    high: IntArray,
) -> tuple[IntArray, IntArray]:
    """Return between which ends ``targets`` (D, N) times the open cells lies, (D,), as weights of the rows prove."""
    fixed_low, fixed_high = low.copy(), high.copy()
    fixed_low[solution.cells] = fixed_high[solution.cells] = 0
    row_low = (counts.low - counts.matrix @ fixed_high)[solution.rows].astype(np.float64)
    row_high = (counts.high - counts.matrix @ fixed_low)[solution.rows].astype(np.float64)
    rest = targets - weights @ solution.matrix
    size = np.abs(weights) @ solution.matrix
    rest_room = 2.0**-52 * (len(solution.rows) + 2) * (size + np.abs(targets))
    least, most = (end[solution.cells].astype(np.float64) for end in (low, high))
    plus, minus = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    ends_low = plus @ row_low - minus @ row_high
    ends_high = plus @ row_high - minus @ row_low
    above, below = np.maximum(rest, 0.0), np.maximum(-rest, 0.0)
    ends_low += above @ least - below @ most
    ends_high += above @ most - below @ least
    largest = np.maximum(np.abs(least), np.abs(most))
    room = rest_room @ largest
    terms = np.abs(weights) @ (np.abs(row_low) + np.abs(row_high)) + 2 * np.abs(rest) @ largest
    room += 2.0**-52 * (len(solution.rows) + len(solution.cells) + 4) * terms
    return _whole_ends(ends_low - room, ends_high + room, is_whole=amounts_in(counts).is_whole)


def _whole_ends(low: FloatArray, high: FloatArray, *, is_whole: bool) -> tuple[IntArray, IntArray]:
    """Return ends as whole numbers: inwards of what is whole itself, outwards of what is not."""
    ends = (np.ceil(low), np.floor(high)) if is_whole else (np.floor(low), np.ceil(high))
    least, most = (np.clip(end, -BEYOND, BEYOND).astype(np.int64) for end in ends)
    return least, most
