"""The maximum-entropy estimate of all cells at once, and what its steps prove of cells that can only be at one end."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, xlogy

from treewarden.audit.clock import Clock, OutOfTimeError
from treewarden.audit.engine.bounds import Estimate
from treewarden.audit.engine.certificates import keeping_still, tightened, whole
from treewarden.audit.engine.counts import Counts, OpenNumbers, Propagated, opened, propagate
from treewarden.audit.engine.dual import DualStep, EntropyDual, dual_of, row_units, steps
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray

GOOD_ENOUGH = 1e-3
"""The estimate is done when no row is missed by more people than this."""
FINEST = 1e-7
MOST_STEPS, MOST_STEPS_AFTER = 150, 14
"""Steps in all, and once the estimate is done: what is certain shows in those."""
MANY = 0.1
"""Of the numbers that were open: once so many are settled, all is done again without them."""
FEW = 0.02
"""Of them: where fewer were settled in all, steps without them would hardly prove more."""
MOST_ROWS = 12_000
"""The curvature is dense over the rows: beyond this it would take more memory than there may be."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """The boxes that hold every table that fits, as far as they were proved, and the estimate within them."""

    boxes: Propagated
    estimate: Estimate | Undetermined


def estimate(counts: Counts, boxes: Propagated, clock: Clock) -> Estimated:
    """Return the estimate within boxes, and those boxes as far as its steps narrow them.

    Each step is tried as the weights of a certificate, and so is the way from where the estimate is good enough: along
    it grow the weights of cells that can only be at one end. What they prove is propagated, and all is done again.

    Raises:
        ContradictionError: no table fits.
    """
    theta = np.zeros(len(counts.low))
    guess: Estimate | Undetermined = Undetermined("no estimate: the budget was used up")
    proves = True
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

    def __init__(self, counts: Counts, boxes: Propagated, theta: FloatArray) -> None:
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
            return Undetermined(f"no estimate: {found} rows are left, of at most {MOST_ROWS}")
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
            last = step
            is_done = good is not None and (
                not proves or step.residual <= FINEST or after >= MOST_STEPS_AFTER
            )
            if is_done or number >= MOST_STEPS or self._has_many():
                break
        assert last is not None
        self.theta = self._spread(last.theta)
        if proves and good is not None and self.is_stuck and self.counts.width == 1:
            with suppress(OutOfTimeError):
                for weights in keeping_still(dual, last.x, last.theta - good.theta, clock):
                    self._prove(weights)
        if good is None:
            reason = "the budget was used up" if clock.is_over else "the steps did not converge"
            return Undetermined(f"no estimate: {reason}")
        best = last if last.residual <= GOOD_ENOUGH else good
        return _estimate_of(self.counts, low, self.left, dual, best)

    def _prove(self, direction: FloatArray) -> None:
        """Narrow the boxes by a certificate."""
        d = whole(self.counts, self._spread(direction))
        low, high = tightened(self.counts, self.boxes.low, self.boxes.high, d)
        if (low > self.boxes.low).any() or (high < self.boxes.high).any():
            self.boxes = Propagated(low, high, self.boxes.row)

    def _has_many(self) -> bool:
        now = int((self.boxes.low < self.boxes.high).sum())
        return self.open - now > MANY * self.open

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
    numbers = low.copy()
    numbers.reshape(-1)[left.places] = step.x
    sizes = counts.sizes.astype(np.float64)
    if counts.width == 1:
        numbers = np.hstack([sizes[:, None] - numbers, numbers])
    shares = np.full_like(numbers, 1.0 / numbers.shape[1])
    np.divide(numbers, sizes[:, None], out=shares, where=sizes[:, None] > 0)
    bound = dual.bound(step.theta)
    entropy = float((sizes[:, None] * entr(np.clip(shares, 0.0, 1.0))).sum())
    if counts.prior is not None:
        entropy += float(xlogy(numbers, counts.prior).sum())
    gap = abs(bound - entropy)
    return Estimate(shares, bound, gap, step.residual)
