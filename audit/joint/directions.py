"""Weights of rows that move only cells near an end: those of all other cells are kept where they are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from treewarden.audit.joint.dual import Dual, TwoClasses, scaled, square
from treewarden.audit.worlds.clock import Clock
from treewarden.ppdm_models.arrays import FloatArray

EDGES = (1e-1, 1e-3)
"""A cell is near an end where the product of its two shares is smaller."""
SOFT = 1e-5
ROUNDS = 8


def keeping_still(
    dual: Dual, x: FloatArray, direction: FloatArray, clock: Clock
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
