"""Newton's method for the maximum-entropy estimate of all cells, whose weights prove cells at one end on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import entr, xlogy

from treewarden.audit.bounds import ContradictionError, RowBounds
from treewarden.audit.engine.counts import Counts, OpenNumbers, opened, propagate
from treewarden.audit.engine.dual import (
    DualStep,
    EntropyDual,
    ManyClasses,
    TwoClasses,
    class_shares,
    dual_of,
    row_units,
    square,
    steps,
)
from treewarden.audit.engine.problem import Estimate
from treewarden.audit.engine.time_budget import SECONDS_A_FLOP
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.audit.reading import Undetermined
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
    shares, sizes = class_shares(counts, low, left, step.x), counts.sizes.astype(np.float64)
    bound = dual.bound(step.theta)
    entropy = float((sizes[:, None] * entr(np.clip(shares, 0.0, 1.0))).sum())
    if counts.prior is not None:
        entropy += float(xlogy(shares * sizes[:, None], counts.prior).sum())
    gap = abs(bound - entropy)
    return Estimate(shares, bound, gap, step.residual)


# Certificates: what weights of the rows prove of numbers at an end of their boxes, whatever the weights are.
#
# The multipliers are rounded to whole weights of the rows: whatever the weights are, what they prove is true.
#
# Let x be a table that fits, d any whole weights of the rows, z = A'd what they add up to at each number of x, and s
# any whole number for each cell (0 for two classes). Where the numbers of a cell add up to its size n,
#
# d·(A x) = z·x = sum over cells of (z - s)·x + s n.
#
# The left side is at least the sum of ``min(d low, d high)`` over the rows. At the right, each (z - s) x is at most
# what it is at the end of its box that z - s points to. So all numbers together fall short of those ends by at most
#
# V = (most the right side can be) - (least the left side can be),
#
# and a number whose step away from its end costs |z - s| is at most V / |z - s| steps from it. If V < 0 no table fits.
#
# Where all rows together leave a number one value, no table of shares reaches the greatest entropy: the weights grow
# without end along some direction d, with z = A'd pointing to the ends of such numbers and nothing at all others.
# Along it V is 0, so that each of these numbers is proved. Newton's steps come near it only slowly. So the weights are
# projected on what leaves all other numbers still; a number that would then be moved away from its end is no such
# number, and is held still too.

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


# Weights that move only numbers at an end.

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

        It is 0 where rounding of large coefficients hides it.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        self._hold(is_still)
        rows = np.flatnonzero(is_used)
        total = self.square[np.ix_(rows, rows)]
        total[np.diag_indices(len(rows))] += SOFT
        self.clock.spend(SECONDS_A_FLOP * len(rows) ** 3)
        weights = np.zeros(len(theta))
        try:
            factor = cho_factor(total, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return weights
        kept = theta[rows]
        for _ in range(ROUNDS):
            kept = SOFT * cho_solve(factor, kept, check_finite=False)
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
