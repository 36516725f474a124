"""Weights of rows that move only numbers at an end of their boxes: what proves most of those whom all rows settle.

Where all rows together leave a number one value, no table of shares reaches the greatest entropy: the weights grow
without end along some direction d, with z = A'd pointing to the ends of such numbers and nothing at all others. Along
it nothing falls short in the certificate of ``newton_steps``, so that each of these numbers is proved. Newton's steps
come near it only slowly. So the weights are projected on what leaves all other numbers still; a number that would
then be moved away from its end is no such number, and is held still too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve

from treewarden.audit.engine.dual import EntropyDual, ManyClasses, TwoClasses, square
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray

EDGES = (1e-3, 1e-5)
"""A number is near an end where it is less than this of its people away from it."""
SOFT, ROUNDS = 1e-5, 8
"""What is outside the null space gets ``SOFT / (SOFT + its eigenvalue)`` of itself, so many times."""
MOST_HELD = 25
"""So often numbers are found that would move away from their ends."""
NOTHING = 1e-9
"""Of the largest weight: what is smaller than this is rounding."""


def weights_to_ends(
    dual: EntropyDual, theta: FloatArray, x: FloatArray, clock: Clock
) -> Iterator[FloatArray]:
    """Yield parts of weights (S,) that move only numbers near an end of their boxes; ``x`` (N,) is the estimate.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    for edge in EDGES:
        ends = _ends_of(dual, x, edge)
        # A row that is an interval may be used only where all tables are at that end of it which its weight is for.
        is_used = (dual.half == 0) | (np.abs(theta) > NOTHING * np.abs(theta).max(initial=0.0))
        hold = _StillNumbers(dual, clock)
        for _ in range(MOST_HELD):
            weights = hold.projected(theta, is_used, ends == 0)
            size = float(np.abs(weights).max(initial=0.0))
            if size <= NOTHING * np.abs(theta).max(initial=0.0):
                break
            yield weights
            is_wrong = ends * _moves(dual, weights, ends) < -NOTHING * size
            is_turned = (dual.half > 0) & (theta * weights < 0)
            if not is_wrong.any() and not is_turned.any():
                return
            ends = np.where(is_wrong, 0, ends)
            is_used &= ~is_turned


def _ends_of(dual: EntropyDual, x: FloatArray, edge: float) -> FloatArray:
    """Return -1 where a number is near its least, 1 where near its most, and 0 elsewhere: (N,).

    Of more classes than two only the least of a number is looked at, as the others' leave it no other way at its most.
    """
    if isinstance(dual.cells, TwoClasses):
        room = edge * dual.cells.sizes
        return np.where(
            x - dual.cells.least < room, -1.0, np.where(dual.cells.most - x < room, 1.0, 0.0)
        )
    assert isinstance(dual.cells, ManyClasses)
    return np.where(x < edge * dual.cells.people_left[dual.cells.cells], -1.0, 0.0)


class _StillNumbers:
    """Numbers that are held still, and the square (S, S) of all rows over them, to which more are added."""

    def __init__(self, dual: EntropyDual, clock: Clock) -> None:
        self.dual, self.clock = dual, clock
        self.square = np.zeros((0, 0))
        self.is_still = np.zeros(dual.matrix.shape[1], dtype=bool)

    def projected(self, theta: FloatArray, is_used: BoolArray, is_still: BoolArray) -> FloatArray:
        """Return the part of the weights of some rows that adds up to nothing at numbers that are still.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        self._hold(is_still)
        rows = np.flatnonzero(is_used)
        total = self.square[np.ix_(rows, rows)]
        total[np.diag_indices(len(rows))] += SOFT
        self.clock.spend(SECONDS_A_FLOP * len(rows) ** 3)
        factor = cho_factor(total, overwrite_a=True, check_finite=False)
        kept = theta[rows]
        for _ in range(ROUNDS):
            kept = SOFT * cho_solve(factor, kept, check_finite=False)
        weights = np.zeros(len(theta))
        weights[rows] = kept
        return weights

    def _hold(self, is_still: BoolArray) -> None:
        """Bring the square up to date.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        matrix, cells = self.dual.matrix, self.dual.cells
        if isinstance(cells, TwoClasses) and len(self.square):
            self.square += square(_columns(matrix, is_still & ~self.is_still), self.clock)
        else:
            still = _columns(matrix, is_still)
            self.square = square(still, self.clock)
            if isinstance(cells, ManyClasses):
                means = sparse.csr_array(still @ _means(cells, is_still))
                self.square -= square(means, self.clock)
        self.is_still = is_still


def _columns(matrix: sparse.csr_array, chosen: BoolArray) -> sparse.csr_array:
    return sparse.csr_array(matrix[:, np.flatnonzero(chosen)])


def _means(cells: ManyClasses, is_still: BoolArray) -> sparse.csr_array:
    """Return what takes the mean of each cell's still numbers, each number times the root of how many they are."""
    owners = cells.cells[is_still]
    number = np.bincount(owners, minlength=len(cells.starts))
    entries = 1 / np.sqrt(number[owners])
    shape = (len(owners), len(cells.starts))
    return sparse.csr_array((entries, (np.arange(len(owners)), owners)), shape=shape)


def _moves(dual: EntropyDual, weights: FloatArray, ends: FloatArray) -> FloatArray:
    """Return where weights move each number, beside the still numbers of its cell: (N,)."""
    z = dual.across @ weights
    if isinstance(dual.cells, ManyClasses):
        owners, is_still = dual.cells.cells, ends == 0
        cells = len(dual.cells.starts)
        number = np.bincount(owners[is_still], minlength=cells)
        total = np.bincount(owners[is_still], weights=z[is_still], minlength=cells)
        z = z - (total / np.maximum(number, 1))[owners]
    return np.asarray(z)
