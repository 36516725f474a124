"""The estimate of fewer rows, from the multipliers of that of all: what withholding a number would change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import RowBounds
from treewarden.audit.engine.counts import Counts, OpenNumbers, opened
from treewarden.audit.engine.dual import (
    EntropyDual,
    ManyClasses,
    TwoClasses,
    class_shares,
    dual_of,
    on_one_thread,
    row_units,
)
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP
from treewarden.audit.ipopt.program import DualGroups, DualRows
from treewarden.audit.progress import Clock
from treewarden.audit.solver.dual_newton import DualCurvature, curvature_of, find_multipliers
from treewarden.ppdm_models.arrays import BoolArray, FloatArray

MOST_MULTIPLIERS = 1_500
"""Of more rows the steps are not tried: each solves a system over those that bind."""
USUAL_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class RetainedEstimate:
    """The estimate by all rows, by their multipliers ``price`` (S,); from there that by fewer is few steps away.

    ``low`` and ``high`` (R,) are the ends of all rows over the open numbers, as ``rows`` (S,) has them that are left.
    """

    counts: Counts
    boxes: RowBounds
    left: OpenNumbers
    groups: DualGroups
    rows: DualRows
    low: FloatArray
    high: FloatArray
    price: FloatArray
    curvature: DualCurvature

    @classmethod
    def of_rows(cls, counts: Counts, boxes: RowBounds, clock: Clock) -> RetainedEstimate | None:
        """Return the estimate within boxes that the rows propagate to; None where no step leads to it in time."""
        left, low = opened(counts, boxes.low, boxes.high), boxes.low.astype(np.float64)
        dual, is_open = dual_of(counts, left, low, boxes.high.astype(float)), boxes.low < boxes.high
        groups, rows = _dual_rows(dual, left)
        products = rows.weights.nnz**2 / max(rows.weights.shape[1], 1)  # of one curvature
        if len(rows.low) > MOST_MULTIPLIERS or USUAL_STEPS * SECONDS_A_FLOP * products > clock.left:
            return None
        fixed = counts.matrix @ np.where(is_open, 0, boxes.low).reshape(-1)
        is_left = left.part >= 0
        units = np.ones(len(counts.low))
        units[is_left] = row_units(left)[left.part[is_left]]
        found = cls(
            counts=counts,
            boxes=boxes,
            left=left,
            groups=groups,
            rows=rows,
            low=(counts.low - fixed) / units,
            high=(counts.high - fixed) / units,
            price=np.zeros(len(rows.low)),
            curvature=curvature_of(rows.weights, groups.group, groups.records),
        )
        return found._solved(rows, found.price)

    def without(self, is_withheld: BoolArray) -> RetainedEstimate | None:
        """Return the estimate without some rows (R,); None where it is to be made anew: boxes may be wider, or no step.

        The estimate and its multipliers fulfil all conditions of an optimum (Karush, Kuhn and Tucker). Fewer rows are a
        relaxation: the same numbers are allowed still. So where the ends at which rows have a multiplier other than 0
        are left as they are, the conditions hold as they stand, and the estimate, which is unique, is the same.
        """
        used = self.boxes.used
        if used is None or used[is_withheld].any():
            return None
        low, high = self.rows.low.copy(), self.rows.high.copy()
        kept = ~is_withheld & (self.left.part >= 0)
        count = len(self.left.rows)
        low[:count], high[:count] = -np.inf, np.inf
        np.maximum.at(low, self.left.part[kept], self.low[kept])
        np.minimum.at(high, self.left.part[kept], self.high[kept])
        is_moved = ((self.price < 0) & (low < self.rows.low)) | (
            (self.price > 0) & (high > self.rows.high)
        )
        if not is_moved.any():
            return self
        rows = replace(self.rows, low=low, high=high)
        return self._solved(rows, self._relieved(is_moved))

    def shares(self) -> FloatArray:
        """Return the shares of each cell's people that have each class, (C, m)."""
        masses, _ = self.groups.masses(-(self.rows.weights.T @ self.price))
        x = masses[1::2] if self.counts.width == 1 else masses
        return class_shares(self.counts, self.boxes.low.astype(np.float64), self.left, x)

    def _solved(self, rows: DualRows, price: FloatArray) -> RetainedEstimate | None:
        with on_one_thread():
            found = find_multipliers(self.groups, rows, price, self.curvature)
        if found is None:
            return None
        return replace(self, rows=rows, price=found[0])

    def _relieved(self, is_moved: BoolArray) -> FloatArray:
        """Return multipliers (S,) to begin with where those of some rows are gone: others take over what they can.

        Along the curvature that changes the numbers least; a row that follows from others is taken over whole. Where a
        multiplier would change its side it is 0.
        """
        price = np.where(is_moved, 0.0, self.price)
        binding = np.flatnonzero(self.price)
        others = np.flatnonzero(~is_moved[binding])
        if not len(others):
            return price
        masses, _ = self.groups.masses(-(self.rows.weights.T @ self.price))
        matrix = self.curvature.of_rows(masses, binding)
        pull = matrix @ np.where(is_moved[binding], self.price[binding], 0.0)
        step = matrix.solved(others, pull)
        if step is None or not np.isfinite(step).all():
            return price
        chosen = binding[others]
        moved = price[chosen] + step
        is_equal = self.rows.low[chosen] == self.rows.high[chosen]
        price[chosen] = np.where(is_equal | (moved * price[chosen] > 0), moved, 0.0)
        return price


def _dual_rows(dual: EntropyDual, left: OpenNumbers) -> tuple[DualGroups, DualRows]:
    """Return cells as groups of masses, one for each number that is open, and the rows; of two classes with boxes."""
    cells, units, none = dual.cells, row_units(left), np.zeros(0, dtype=np.intp)
    low, high = left.low / units, left.high / units
    weights = sparse.csr_matrix(dual.matrix)
    if isinstance(cells, TwoClasses):
        group = np.repeat(np.arange(len(cells.sizes)), 2)
        records, scale = cells.sizes, np.ones(2 * len(cells.sizes))
        inner = np.flatnonzero((cells.least > 0) | (cells.most < cells.sizes))
        bounds = sparse.csr_matrix(
            (np.ones(len(inner)), inner, np.arange(len(inner) + 1)),
            shape=(len(inner), len(records)),
        )
        low = np.concatenate([low, cells.least[inner]])
        high = np.concatenate([high, cells.most[inner]])
        stacked = sparse.csr_matrix(sparse.vstack([weights, bounds]))
        weights = sparse.csr_matrix(
            (stacked.data, 2 * stacked.indices + 1, stacked.indptr),
            shape=(stacked.shape[0], len(scale)),
        )
    else:
        assert isinstance(cells, ManyClasses)
        group, records = cells.cells, cells.people_left
        scale = np.ones(len(group)) if cells.log_prior is None else np.exp(cells.log_prior)
    groups = DualGroups(
        scale=scale,
        group=group,
        records=records,
        row=none,
        sums=sparse.csr_matrix((0, len(scale))),
        constant=np.zeros(0),
        of_total=none,
    )
    rows = DualRows(
        weights=weights,
        low=low,
        high=high,
        place=none,
        is_bound=np.zeros(0, dtype=bool),
        of_split=none,
    )
    return groups, rows
