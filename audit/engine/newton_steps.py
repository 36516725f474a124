"""Newton's method for the maximum-entropy estimate of all cells, whose weights prove cells at one end on the way."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, xlogy

from treewarden.audit.bounds import RowBounds
from treewarden.audit.engine.certificates import tightened, weights_to_ends, whole
from treewarden.audit.engine.counts import Counts, OpenNumbers, opened, propagate
from treewarden.audit.engine.dual import (
    DualStep,
    EntropyDual,
    class_shares,
    dual_of,
    row_units,
    steps,
)
from treewarden.audit.engine.problem import Estimate
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray

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
    shares, sizes = class_shares(counts, low, left, step.x), counts.sizes.astype(np.float64)
    bound = dual.bound(step.theta)
    entropy = float((sizes[:, None] * entr(np.clip(shares, 0.0, 1.0))).sum())
    if counts.prior is not None:
        entropy += float(xlogy(shares * sizes[:, None], counts.prior).sum())
    gap = abs(bound - entropy)
    return Estimate(shares, bound, gap, step.residual)
