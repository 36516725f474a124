"""Proofs by weights of the rows: whatever the weights are, what they prove is true.

Let x be what fits, b the rows' sums (between low and high), w any weights. Then

    x_c = w·b + (e_c - A'w)·x,

where w·b lies between ends that the rows give, and the last term between ends that the boxes of x give. Where the rows
determine x_c, weights with A'w = e_c leave only what rounding does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from treewarden.audit.values.rows import ROUNDING, ValueRows
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray

MOST_CELLS = 2000
"""So many open cells are solved for at once: as many numbers squared are kept, and their time goes with the cube."""
MOST_ROWS = 3 * MOST_CELLS
RANK = 1e-9
"""What is below that share of the largest is rounding."""
NOTHING = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """What the rows determine of the open cells (N,), which stand at ``cells``.

    ``weights`` (D, R) prove the cells at ``determined`` (D,), of the dense ``matrix`` (R, N) of the rows at ``rows``
    (R,), which are those of the first trees.
    """

    cells: IndexArray
    rows: IndexArray
    matrix: FloatArray
    determined: IndexArray
    weights: FloatArray


def solved(rows: ValueRows, is_open: BoolArray) -> Solved | None:
    """Return what the rows determine of the open cells (C,), or None where these are too many to be solved for."""
    cells = np.flatnonzero(is_open)
    if not 0 < len(cells) <= MOST_CELLS:
        return None
    chosen, matrix = _matrix(rows, cells)
    q, r, order = linalg.qr(matrix, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > RANK * diagonal[0]).sum())
    square = r[:rank, :rank]
    # What of each pivot follows the other cells: where nothing does, the rows determine it.
    follow = linalg.solve_triangular(square, r[:rank, rank:], check_finite=False)
    fixed = np.flatnonzero((np.abs(follow) < NOTHING).all(axis=1))
    weights = linalg.solve_triangular(square, q[:, :rank].T, check_finite=False)[fixed]
    return Solved(cells, chosen, matrix, order[:rank][fixed], weights)


def determined(
    rows: ValueRows, found: Solved, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return boxes (C,) within the given ones that hold all tables which the given ones hold and which fit."""
    wanted = np.zeros((len(found.determined), len(found.cells)))
    wanted[np.arange(len(wanted)), found.determined] = 1.0
    ends = proved(rows, found, found.weights, wanted, low, high)
    least, most = rows.scale.inward(*ends)
    at = found.cells[found.determined]
    low, high = low.copy(), high.copy()
    low[at], high[at] = np.maximum(low[at], least), np.minimum(high[at], most)
    return low, high


def proved(
    rows: ValueRows,
    found: Solved,
    weights: FloatArray,
    wanted: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return between which ends ``wanted`` (D, N) times the open cells lies, (D,), as weights of the rows prove."""
    fixed = low.copy()
    fixed[found.cells] = 0.0
    fixed_high = high.copy()
    fixed_high[found.cells] = 0.0
    row_low = (rows.low - rows.sums(fixed_high))[found.rows]
    row_high = (rows.high - rows.sums(fixed))[found.rows]
    slack = ROUNDING * (np.abs(rows.low) + np.abs(rows.high) + rows.sums(np.abs(high)))
    row_low, row_high = row_low - slack[found.rows], row_high + slack[found.rows]
    rest = wanted - weights @ found.matrix
    size = np.abs(weights) @ found.matrix
    rest_room = 2.0**-52 * (len(found.rows) + 2) * (size + np.abs(wanted))
    least, most = low[found.cells], high[found.cells]
    plus, minus = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
    ends_low = plus @ row_low - minus @ row_high
    ends_high = plus @ row_high - minus @ row_low
    above, below = np.maximum(rest, 0.0), np.maximum(-rest, 0.0)
    ends_low += above @ least - below @ most
    ends_high += above @ most - below @ least
    largest = np.maximum(np.abs(least), np.abs(most))
    room = rest_room @ largest
    terms = np.abs(weights) @ (np.abs(row_low) + np.abs(row_high)) + 2 * np.abs(rest) @ largest
    room += 2.0**-52 * (len(found.rows) + len(found.cells) + 2) * terms
    return ends_low - room, ends_high + room


def _matrix(rows: ValueRows, cells: IndexArray) -> tuple[IndexArray, FloatArray]:
    """Return the rows about some cells, of as many trees as need be, and them as a matrix."""
    matrices, chosen, taken = [], [], 0
    for place in rows.place:
        here = place[cells]
        there = np.flatnonzero(here >= 0)
        each, inside = np.unique(here[there], return_inverse=True)
        matrix = np.zeros((len(each), len(cells)))
        matrix[inside.reshape(-1), there] = 1.0
        matrices.append(matrix)
        chosen.append(each)
        taken += len(each)
        if taken > min(MOST_ROWS, 4 * len(cells) + 64):
            break
    return np.concatenate(chosen), np.concatenate(matrices)
