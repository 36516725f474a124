"""Proofs by weights of the rows, in whole numbers: whatever the weights are, what they prove is true.

Let x be a table that fits, d any whole weights of the rows, z = A'd what they add up to at each number of x, and s any
whole number for each cell (0 for two classes). Where the numbers of a cell add up to its size n,

d·(A x) = z·x = sum over cells of (z - s)·x + s n.

The left side is at least the sum of ``min(d low, d high)`` over the rows. At the right, each (z - s) x is at most what
it is at the end of its box that z - s points to. So all numbers together fall short of those ends by at most

V = (most the right side can be) - (least the left side can be),

and a number whose step away from its end costs |z - s| is at most V / |z - s| steps from it. If V < 0 no table
fits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.engine.counts import Counts
from treewarden.audit.engine.dual import EntropyDual, TwoClasses, scaled, square
from treewarden.ppdm_models.arrays import FloatArray, IntArray

SCALE = 10**9
"""What the largest weight is rounded to."""
LARGEST = 2**62
"""Sums of whole numbers stay below this, so that machine integers do."""


def whole(counts: Counts, weights: FloatArray) -> IntArray:
    """Return weights (R,) as whole numbers in the same proportions, as large as the sums of a proof allow."""
    largest = float(np.abs(weights).max(initial=0.0))
    if not 0.0 < largest < np.inf:
        return np.zeros(len(weights), dtype=np.int64)
    scale = SCALE
    while True:
        d = np.rint(weights / largest * scale).astype(np.int64)
        if is_small(counts, d):
            return d
        scale //= 10


def is_small(counts: Counts, d: IntArray) -> bool:
    """Whether no sum that ``tightened`` makes of whole weights can leave 64 bits.

    Each |z| is at most the sum of |d| over the rows of its cell, each |z - s| at most twice that. Times the sizes and
    summed over all cells and classes, that is at most 2 w times the sum of |d| times the row's people, all taken as
    Python's own integers here. The rows' ends are added as they are.
    """
    per_row = np.abs(counts.low) + np.abs(counts.high) + counts.people + 1
    each: int = sum(abs(a) * b for a, b in zip(d.tolist(), per_row.tolist(), strict=True))
    return bool(4 * counts.width * each + int(counts.sizes.sum()) < LARGEST)


def tightened(
    counts: Counts, low: IntArray, high: IntArray, d: IntArray
) -> tuple[IntArray, IntArray]:
    """Return boxes (C, w) within the given ones that hold all tables which the given ones hold; ``d`` is any, (R,).

    Raises:
        ContradictionError: no table fits.
        OverflowError: the weights are too large for a proof in machine integers.
    """
    if not is_small(counts, d):
        raise OverflowError("the weights are too large for a proof in machine integers")
    z = (counts.across @ d).reshape(low.shape)
    shift = np.zeros(len(low), dtype=np.int64)
    if counts.width > 1:
        shift = _shift(z, low, high, counts.sizes)
    z = z - shift[:, None]
    most = int(np.maximum(z * low, z * high).sum()) + int((shift * counts.sizes).sum())
    least = int(np.minimum(d * counts.low, d * counts.high).sum())
    spare = most - least
    if spare < 0:
        raise ContradictionError("no table fulfils all rows together")
    # Where z is 0 nothing is proved; any divisor will do there.
    steps = np.where(z == 0, high - low, spare // np.maximum(np.abs(z), 1))
    new_low = np.where(z > 0, np.maximum(low, high - steps), low)
    new_high = np.where(z < 0, np.minimum(high, low + steps), high)
    return new_low, new_high


def _shift(z: IntArray, low: IntArray, high: IntArray, sizes: IntArray) -> IntArray:
    """Return the s of each cell (C,) that makes V least: the z of the class that is filled last, the best first."""
    order = np.argsort(-z, axis=1, kind="stable")
    room = np.take_along_axis(high - low, order, axis=1).cumsum(axis=1)
    last = (room >= (sizes - low.sum(axis=1))[:, None]).argmax(axis=1)
    at = np.arange(len(z))
    return np.asarray(z[at, order[at, last]])


# Weights of rows that move only cells near an end: those of all other cells are kept where they are.

EDGES = (1e-1, 1e-3)
"""A cell is near an end where the product of its two shares is smaller."""
SOFT = 1e-5
ROUNDS = 8


def keeping_still(
    dual: EntropyDual, x: FloatArray, direction: FloatArray, clock: Clock
) -> Iterator[FloatArray]:
    """Yield the part of weights (S,) that adds up to nothing at each cell away from its ends, for two classes.

    That is the projection on the null space of B', B the rows over those cells. What is outside the null space is made
    smaller by ``SOFT / (SOFT + its eigenvalue of B B')`` each round: one factorisation, and no eigenvectors.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    assert isinstance(dual.cells, TwoClasses)
    share = x / dual.cells.sizes
    for edge in EDGES:
        total = square(scaled(dual.matrix, (share * (1 - share) > edge).astype(np.float64)), clock)
        total[np.diag_indices(len(direction))] += SOFT
        factor = cho_factor(total, check_finite=False)
        kept = direction
        for _ in range(ROUNDS):
            kept = cho_solve(factor, kept, check_finite=False)
            kept = kept / (np.abs(kept).max(initial=0.0) or 1.0)
        yield np.asarray(kept)
