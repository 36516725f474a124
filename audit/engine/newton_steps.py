"""Newton's method for the maximum-entropy estimate of all cells, and what its multipliers prove of cells at one end.

The multipliers are rounded to whole weights of the rows: whatever the weights are, what they prove is true.

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

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.special import entr, xlogy

from treewarden.audit.bounds import ContradictionError, RowBounds
from treewarden.audit.engine.counts import Counts, OpenNumbers, opened, propagate
from treewarden.audit.engine.dual import (
    DualStep,
    EntropyDual,
    ManyClasses,
    TwoClasses,
    dual_of,
    on_one_thread,
    row_units,
    steps,
)
from treewarden.audit.engine.end_weights import weights_to_ends
from treewarden.audit.engine.problem import Estimate
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP
from treewarden.audit.ipopt.program import DualGroups, DualRows
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.audit.reading import Undetermined
from treewarden.audit.solver.dual_newton import DualCurvature, curvature_of, find_multipliers
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray

GOOD_ENOUGH = 1e-3
"""The estimate is done when no row is missed by more people than this."""
FINEST = 1e-7
MOST_STEPS, MOST_STEPS_AFTER = 150, 6
"""Steps in all, and once the estimate is done: what is certain shows in those."""
FEW = 0.02
"""Of the numbers that were open: once more are settled, all is done again without them, which may prove more."""
MOST_ROWS = 12_000
"""The curvature is dense over the rows: beyond this it would take more memory than there may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """The boxes that hold every table that fits, as far as they were proved, and the estimate within them."""

    boxes: RowBounds
    estimate: Estimate | Undetermined


def estimate(counts: Counts, boxes: RowBounds, clock: Clock, *, proves: bool = True) -> Estimated:
    """Return the estimate within boxes, and those boxes as far as its steps narrow them.

    Each step is tried as the weights of a certificate, and so is the way from where the estimate is good enough: along
    it grow the weights of cells that can only be at one end. What they prove is propagated, and all is done again.
    Without ``proves`` only the estimate is made.

    Raises:
        ContradictionError: no table fits.
    """
    theta = np.zeros(len(counts.low))
    guess: Estimate | Undetermined = Undetermined("no inference: the time was used up")
    while True:
        walk = _NewtonWalk(counts, boxes, theta)
        found = walk.run(clock, proves=proves)
        if isinstance(found, Estimate) or isinstance(guess, Undetermined):
            guess = found
        if walk.is_stuck:
            return Estimated(boxes, guess)
        boxes = propagate(counts, walk.boxes, clock)
        theta = walk.theta
        settled = walk.open - int((boxes.low < boxes.high).sum())
        # The last time around only the estimate is brought up to date.
        proves = settled > FEW * walk.open


class _NewtonWalk:
    """Newton's steps on the rows that boxes leave, and the boxes that they prove."""

    def __init__(self, counts: Counts, boxes: RowBounds, theta: FloatArray) -> None:
        self.counts, self.boxes, self.start = counts, boxes, boxes
        self.left: OpenNumbers = opened(counts, boxes.low, boxes.high)
        self.units = row_units(self.left)
        self.theta = theta
        self.open = len(self.left.places)

    @property
    def is_stuck(self) -> bool:
        """Whether nothing was proved."""
        return self.boxes is self.start

    def run(self, clock: Clock, *, proves: bool) -> Estimate | Undetermined:
        """Return the estimate, else why there is none; without ``proves`` nothing is tried beyond it."""
        if len(self.left.rows) > MOST_ROWS:
            found = len(self.left.rows)
            return Undetermined(
                f"no inference: {found} constraints are left, more than the {MOST_ROWS} that can be "
                "solved"
            )
        low, high = self.start.low.astype(float), self.start.high.astype(float)
        dual = dual_of(self.counts, self.left, low, high)
        good: DualStep | None = None
        last: DualStep | None = None
        after = 0
        for number, step in enumerate(steps(dual, self._gathered(), clock)):
            if proves and last is not None:
                self._prove(step.theta - last.theta)
            if proves and good is not None:
                after += 1
                self._prove(step.theta - good.theta)
            elif step.is_true and step.residual <= GOOD_ENOUGH:
                good = step
                if proves:
                    self._prove_ends(dual, step, clock)
            last = step
            is_done = good is not None and (
                not proves or step.residual <= FINEST or after >= MOST_STEPS_AFTER
            )
            if is_done or number >= MOST_STEPS or self._has_settled_many():
                break
        assert last is not None
        self.theta = self._spread(last.theta)
        if proves and good is not None and self.is_stuck:
            self._prove_ends(dual, last, clock)
        if good is None:
            reason = "the steps did not converge"
            if clock.is_over:
                reason = (
                    "the time limit was reached" if clock.is_struck else "the budget was used up"
                )
            return Undetermined(f"no inference: {reason}")
        best = last if last.residual <= GOOD_ENOUGH else good
        return _estimate_of(self.counts, low, self.left, dual, best)

    def _prove(self, direction: FloatArray) -> None:
        """Narrow the boxes by a certificate."""
        d = whole(self.counts, self._spread(direction))
        low, high = tightened(self.counts, self.boxes.low, self.boxes.high, d)
        if (low > self.boxes.low).any() or (high < self.boxes.high).any():
            self.boxes = RowBounds(low, high, self.boxes.row)

    def _prove_ends(self, dual: EntropyDual, step: DualStep, clock: Clock) -> None:
        """Narrow the boxes by weights that move only numbers at their ends, as far as the time goes."""
        with suppress(OutOfTimeError):
            for weights in weights_to_ends(dual, step.theta, step.x, clock):
                self._prove(weights)

    def _has_settled_many(self) -> bool:
        now = int((self.boxes.low < self.boxes.high).sum())
        return self.open - now > FEW * self.open

    def _gathered(self) -> FloatArray:
        """Return the weights to begin with: those of rows that have become equal add up."""
        is_left = self.left.part >= 0
        weights = np.zeros(len(self.left.rows))
        np.add.at(weights, self.left.part[is_left], self.theta[is_left])
        return weights * self.units

    def _spread(self, theta: FloatArray) -> FloatArray:
        """Return weights of the rows that are left as those of all rows, (R,)."""
        weights = np.zeros(len(self.counts.low))
        weights[self.left.rows] = theta / self.units
        return weights


def _estimate_of(
    counts: Counts, low: FloatArray, left: OpenNumbers, dual: EntropyDual, step: DualStep
) -> Estimate:
    shares, sizes = _class_shares(counts, low, left, step.x), counts.sizes.astype(np.float64)
    bound = dual.bound(step.theta)
    entropy = float((sizes[:, None] * entr(np.clip(shares, 0.0, 1.0))).sum())
    if counts.prior is not None:
        entropy += float(xlogy(shares * sizes[:, None], counts.prior).sum())
    gap = abs(bound - entropy)
    return Estimate(shares, bound, gap, step.residual)


def _class_shares(counts: Counts, low: FloatArray, left: OpenNumbers, x: FloatArray) -> FloatArray:
    """Return the shares of each cell's people by class, (C, m), by the open numbers x (N,); others are at ``low``."""
    numbers, sizes = low.copy(), counts.sizes.astype(np.float64)[:, None]
    numbers.reshape(-1)[left.places] = x
    if counts.width == 1:
        numbers = np.hstack([sizes - numbers, numbers])
    shares = np.full_like(numbers, 1.0 / numbers.shape[1])
    np.divide(numbers, sizes, out=shares, where=sizes > 0)
    return shares


# The estimate of fewer rows, from the multipliers of that of all.

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
        return _class_shares(self.counts, self.boxes.low.astype(np.float64), self.left, x)

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
