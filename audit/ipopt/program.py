"""One block of the reduced problem as arrays: separable, in records, with a diagonal Hessian.

Minimise ``sum y log(y / scale) - eps * sum scale log y`` over the masses ``y`` (the first variables) and aggregates
``u`` (the rest), subject to linear rows and to split rows, each a sum of ``coefficient * phi(u)`` with
``phi(u) = -u^2 / s`` (gini) or ``-u log(u / s)`` (entropy). The minimum without the ``eps`` term is the maximum of the
entropy; the term, with its small documented weight, singles out one point where the optimum is flat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.tree import Criterion

SMALLEST_MASS = 1e-12
TAU = 1e-7
"""Slack of a split row, as a share of its node's records: some rows hold only with equality and have no interior."""


@dataclass(frozen=True, slots=True)
class SplitTerms:
    """The T terms of split rows: ``coefficient * phi(z[variable], scale)`` in each ``row``, (T,) each.

    In terms of the chosen split, the variable is at least ``known`` and at most ``most``, see
    `treewarden.audit.entropy.masses.MassCells`.
    """

    row: IndexArray
    variable: IndexArray
    coefficient: FloatArray
    scale: FloatArray
    known: FloatArray
    most: FloatArray

    def __len__(self) -> int:
        return len(self.row)

    def only(self, places: IndexArray | BoolArray) -> SplitTerms:
        """Return some of the terms, in this order."""
        return SplitTerms(
            row=self.row[places],
            variable=self.variable[places],
            coefficient=self.coefficient[places],
            scale=self.scale[places],
            known=self.known[places],
            most=self.most[places],
        )


@dataclass(frozen=True, slots=True)
class SplitRows:
    """Split rows: the terms of one plus its ``constant`` must not exceed its ``limit``, tau * ``records`` of the node.

    ``linear`` (split rows, variables) is added to them: zero but in the form of `treewarden.audit.solver.canonical`.
    """

    terms: SplitTerms
    constant: FloatArray
    limit: FloatArray
    records: FloatArray
    linear: sparse.csr_matrix

    def __len__(self) -> int:
        return len(self.limit)


def no_split_rows(variables: int) -> SplitRows:
    """Return no split rows over so many variables."""
    none, nowhere = np.zeros(0), np.zeros(0, dtype=np.intp)
    terms = SplitTerms(nowhere, nowhere, none, none, none, none)
    return SplitRows(terms, none, none, none, sparse.csr_matrix((0, variables)))


@dataclass(frozen=True, slots=True)
class BlockProgram:
    """The arrays of one block: ``scale`` (n_y,) is w * kappa per mass, ``rows`` a CSR matrix with its ends.

    ``cost`` is added to the objective: zero but in the form of `treewarden.audit.solver.canonical`.
    ``is_impossible``: a row is broken whatever the variables are.
    """

    criterion: Criterion
    scale: FloatArray
    start: FloatArray
    lower: FloatArray
    upper: FloatArray
    rows: sparse.csr_matrix
    low: FloatArray
    high: FloatArray
    cost: FloatArray
    splits: SplitRows
    is_impossible: bool = False

    @property
    def size(self) -> int:
        """The number of variables."""
        return len(self.start)

    @property
    def is_convex(self) -> bool:
        """Whether every split row is a convex function below a bound, so that a local optimum is the optimum."""
        return bool((self.splits.terms.coefficient <= 0).all())

    def objective(self, z: FloatArray) -> float:
        """Return the negative entropy of the masses, in nats times records, without the eps term."""
        y = z[: len(self.scale)]
        return float((y * np.log(np.maximum(y, SMALLEST_MASS) / self.scale)).sum() + self.cost @ z)

    def split_values(self, z: FloatArray) -> FloatArray:
        """Return the left side of each split row less its constant limit, in records: 0 or less where it holds."""
        splits, terms = self.splits, self.splits.terms
        u = np.maximum(z[terms.variable], SMALLEST_MASS)
        is_gini = self.criterion is Criterion.GINI
        phi = -(u**2) / terms.scale if is_gini else -u * np.log(u / terms.scale)
        sums = np.bincount(terms.row, weights=terms.coefficient * phi, minlength=len(splits))
        return np.asarray(sums + splits.linear @ z + splits.constant - splits.limit)

    def split_jacobian(self, z: FloatArray) -> sparse.csr_matrix:
        """Return the derivatives of the split rows, shape (split rows, variables)."""
        terms = self.splits.terms
        u = np.maximum(z[terms.variable], SMALLEST_MASS)
        is_gini = self.criterion is Criterion.GINI
        slope = -2 * u / terms.scale if is_gini else -(np.log(u / terms.scale) + 1)
        shape = (len(self.splits), self.size)
        weights = terms.coefficient * slope
        curved = sparse.csr_matrix((weights, (terms.row, terms.variable)), shape=shape)
        return curved + self.splits.linear

    def linear_error(self, z: FloatArray) -> float:
        """Return the largest miss of a linear row or bound, in records."""
        value = self.rows @ z
        misses = [self.low - value, value - self.high, self.lower - z, z - self.upper]
        return max(float(np.max(miss, initial=0.0)) for miss in misses)

    def split_error(self, z: FloatArray) -> float:
        """Return the largest excess of a split row over its limit, as a share of its node's records."""
        return float(np.max(self.split_values(z) / self.splits.records, initial=0.0))

    def gradient(self, z: FloatArray, eps: float) -> FloatArray:
        """Return the derivative of the objective with its eps term, shape (variables,)."""
        y = np.maximum(z[: len(self.scale)], SMALLEST_MASS)
        slope = self.cost.copy()
        slope[: len(self.scale)] += np.log(y / self.scale) + 1 - eps * self.scale / y
        return slope

    def kkt_error(
        self, z: FloatArray, linear: FloatArray, split: FloatArray, bounds: FloatArray, eps: float
    ) -> float:
        """Return the largest stationarity residual given multipliers of the linear rows, split rows and bounds."""
        residual = (
            self.gradient(z, eps) + self.rows.T @ linear + self.split_jacobian(z).T @ split + bounds
        )
        return float(np.max(np.abs(residual) / (1 + np.abs(self.gradient(z, eps))), initial=0.0))


@dataclass(frozen=True, slots=True)
class DualGroups:
    """The masses by group: each mass (n,) is in one ``group``, whose ``records`` (G,) it shares; ``row`` (G,) says so.

    ``sums`` (totals, n) gives the totals in terms of masses and ``constant`` (totals,), by the rows ``of_total``.
    """

    scale: FloatArray
    group: IndexArray
    records: FloatArray
    row: IndexArray
    sums: sparse.csr_matrix
    constant: FloatArray
    of_total: IndexArray

    def masses(self, exponents: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the masses (n,) for ``log(mass / scale)`` but for what is the same in a group; and that (G,)."""
        most = np.full(len(self.records), -np.inf)
        np.maximum.at(most, self.group, exponents)
        parts = self.scale * np.exp(exponents - most[self.group])
        total = np.bincount(self.group, weights=parts, minlength=len(self.records))
        return parts * (self.records / total)[self.group], most + np.log(total / self.records)


@dataclass(frozen=True, slots=True)
class DualRows:
    """Rows across groups (r, n) and their ends; ``place`` (r,) is the program's row, or the variable it bounds.

    Tangents of split rows stand last: ``of_split`` (tangents,) says of which.
    """

    weights: sparse.csr_matrix
    low: FloatArray
    high: FloatArray
    place: IndexArray
    is_bound: BoolArray
    of_split: IndexArray

    def ends(self, side: FloatArray) -> FloatArray:
        """Return the end that each row is held to on a side; 0 of those at their kink, whose multiplier stays 0."""
        ends = np.where(side > 0, self.high, self.low)
        return np.where((side == 0) & (self.low != self.high), 0.0, ends)

    def largest_miss(self, value: FloatArray) -> float:
        """Return by how much some row's value (r,) is beyond its ends at most."""
        return float(np.maximum(self.low - value, value - self.high).max(initial=0.0))

    def largest_weights(self) -> FloatArray:
        """Return the size of the largest weight of each row, (r,), 0 of none."""
        weights = self.weights
        largest, has_any = np.zeros(weights.shape[0]), np.diff(weights.indptr) > 0
        starts = weights.indptr[:-1][has_any]
        largest[has_any] = np.maximum.reduceat(np.abs(weights.data), starts) if len(starts) else 0.0
        return largest
