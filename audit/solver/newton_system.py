"""The linear system of a barrier method's step, factorised sparsely with one pattern for all steps.

    [ C   A'  G' ]   curvature C of the variables, diagonal and of any sign
    [ A   0   0  ]   linear rows A, all of them equations
    [ G   0  -R  ]   slopes G of the split rows, and the room R that their slacks leave them, diagonal

The system is symmetric and indefinite. QDLDL (Stellato et al. 2020) factorises it without pivoting, so that the order
and the pattern of its factors stay; the signs of its pivots are those of the eigenvalues (Sylvester's law of inertia).
"""

from __future__ import annotations

import numpy as np
import qdldl
from scipy import sparse

from treewarden.ppdm_models.arrays import FloatArray, IndexArray

SMALLEST_CURVATURE = 1e-8
"""Pivots of variables are no nearer to 0, and those of equations are `RIDGE`: what that changes is refined away."""
RIDGE = 1e-12
REFINED_SHARE = 1e-10
"""Residual of a solution, as a share of the right side and of the solution, at which it is refined no more."""
USABLE_SHARE = 1e-5
MOST_REFINEMENTS = 6


class NewtonSystem:
    """The system of a program with linear ``rows`` (r, n) and split rows whose ``slopes`` (k, n) stand in a pattern."""

    def __init__(self, rows: sparse.csr_matrix, slopes: sparse.csr_matrix) -> None:
        self.rows, self.columns = rows, sparse.csr_matrix(rows.T)
        self.slopes = slopes
        r, n, k = rows.shape[0], rows.shape[1], slopes.shape[0]
        self._sizes = (n, r, k)
        by_row, by_split = np.diff(rows.indptr), np.diff(slopes.indptr)
        self._split_of = np.repeat(np.arange(k), by_split)
        # Column by column of the upper triangle: one entry of each variable, then each row's entries and its diagonal.
        starts = np.concatenate(
            [[0], np.cumsum(np.concatenate([np.ones(n), by_row + 1, by_split + 1]))]
        )
        starts = starts.astype(np.int64)
        at_row, at_split = starts[n : n + r], starts[n + r : n + r + k]
        entries = _entries(at_row, rows)
        self._of_slopes, self._of_room = _entries(at_split, slopes), at_split + by_split
        indices = np.empty(starts[-1], dtype=np.int64)
        indices[:n] = np.arange(n)
        indices[entries], indices[self._of_slopes] = rows.indices, slopes.indices
        indices[at_row + by_row], indices[self._of_room] = n + np.arange(r), n + r + np.arange(k)
        values = np.zeros(starts[-1])
        values[entries], values[at_row + by_row] = rows.data, -RIDGE
        self._matrix = sparse.csc_matrix((values, indices, starts), shape=(n + r + k, n + r + k))
        self._factors: qdldl.Solver | None = None
        self._curvature, self._room = np.zeros(n), np.zeros(k)

    def factorise(self, curvature: FloatArray, slopes: FloatArray, room: FloatArray) -> bool:
        """Factorise the system; return whether the curvature along the rows is positive, so that a step descends.

        ``curvature`` (n,), the entries of the ``slopes`` in the order of their pattern, and ``room`` (k,), above 0.
        """
        (n, r, k), values = self._sizes, self._matrix.data
        self._curvature, self._room, self.slopes.data = curvature, room, slopes
        least = np.copysign(SMALLEST_CURVATURE, curvature)
        values[:n] = np.where(np.abs(curvature) < SMALLEST_CURVATURE, least, curvature)
        values[self._of_slopes], values[self._of_room] = slopes, -room
        try:
            if self._factors is None:
                self._factors = qdldl.Solver(self._matrix, upper=True)
            else:
                self._factors.update(self._matrix, upper=True)
        except RuntimeError:  # a pivot of 0
            return False
        pivots = self._factors.factors()[1]
        return bool(np.isfinite(pivots).all()) and int((pivots < 0).sum()) == r + k

    def solve(self, right: FloatArray) -> FloatArray | None:
        """Return the solution (n + r + k,) of the system as factorised last; None where refining does not reach it."""
        assert self._factors is not None
        solution = self._factors.solve(right)
        most = np.abs(right).max(initial=0.0)
        for _ in range(MOST_REFINEMENTS):
            residual = right - self._times(solution)
            size, miss = most + np.abs(solution).max(initial=0.0), np.abs(residual).max(initial=0.0)
            if not np.isfinite(miss):
                return None
            if miss <= REFINED_SHARE * size:
                return np.asarray(solution)
            solution = solution + self._factors.solve(residual)
        return np.asarray(solution) if miss <= USABLE_SHARE * size else None

    def by_variable(self, split: FloatArray) -> FloatArray:
        """Return the slopes of split rows times their multipliers (k,), added up by variable, (n,)."""
        # To transpose a sparse matrix takes longer than the product.
        weighed = self.slopes.data * split[self._split_of]
        return np.bincount(self.slopes.indices, weighed, self._sizes[0]).astype(np.float64)

    def _times(self, vector: FloatArray) -> FloatArray:
        n, r, _ = self._sizes
        x, linear, split = vector[:n], vector[n : n + r], vector[n + r :]
        return np.concatenate(
            [
                self._curvature * x + self.columns @ linear + self.by_variable(split),
                self.rows @ x,
                self.slopes @ x - self._room * split,
            ]
        )


def _entries(starts: IndexArray, rows: sparse.csr_matrix) -> IndexArray:
    """Return where the entries of rows stand if each row begins at its start."""
    counts = np.diff(rows.indptr)
    return np.asarray(np.repeat(starts - rows.indptr[:-1], counts) + np.arange(rows.nnz))
