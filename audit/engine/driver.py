"""The one driver of the engine: cheap proofs first, then the estimate, then the search, as far as the time goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.engine.bounds import Bounds, Estimate, How
from treewarden.audit.engine.counts import (
    NO_ROW,
    Counts,
    Propagated,
    by_class,
    by_leaves,
    counts_of,
    propagate,
    settled,
)
from treewarden.audit.engine.newton_steps import estimate
from treewarden.audit.engine.problem import Problem
from treewarden.audit.engine.search import search
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IntArray

ShouldStop = Callable[[IntArray], bool]
"""Asked of the class that each cell certainly has by now, (C,), -1 for none: whether nobody wants to know more."""
MORE_IS_TOLD = Undetermined(
    "no estimate: the file publishes a second sum for each leaf (of squares, or of records that weigh more), which "
    "whoever estimates could use, and which is used for proofs only"
)
DECIDED = (
    "nobody was looked for who is certain by more than the cheap proofs: what they found was enough"
)


def never(certain: IntArray) -> bool:
    """Say that more is always wanted."""
    return False


def reason(
    problem: Problem,
    *,
    truth: IntArray | None = None,
    budget: TimeBudget,
    should_stop: ShouldStop = never,
) -> Bounds:
    """Return what the rows of a problem prove of each group, what other tables were found, and the estimate.

    ``truth``, (C, m) whole numbers, is the table that the owner has: it is the first table found, if it fits. Once
    ``should_stop`` says so of who is certain, no solver is asked. Of a problem that is incomplete no other tables are
    looked for, as whoever knows the rest may rule them out, and there is no estimate.
    """
    began = budget.until.now()
    budget = budget.without_search() if problem.incomplete else budget
    run = _BoundState(counts_of(problem))
    try:
        run.go(truth, budget, should_stop)
    except ContradictionError as contradiction:
        run.problem = "; ".join(contradiction.says)
    bounds = run.result(budget.until.now() - began)
    return of_part(bounds, problem.incomplete) if problem.incomplete else bounds


def of_part(bounds: Bounds, missing: str) -> Bounds:
    """Return what some of what is known proves, which holds; what is left open may be settled by the rest."""
    return replace(bounds, estimate=Undetermined(f"no estimate: {missing}"), left=(missing,))


class _BoundState:
    """What is known so far: boxes, by what cells were settled, and the tables found."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        cells = len(counts.sizes)
        self.boxes = Propagated(*counts.start(), np.full(cells, NO_ROW, dtype=np.intp))
        self.reached = self.boxes.high + 1, self.boxes.low - 1
        self.how: list[How | str] = [""] * cells
        self.estimate: Estimate | Undetermined = Undetermined("no estimate: no table fits")
        self.problem = ""
        self.left: tuple[str, ...] = ()

    def go(self, truth: IntArray | None, budget: TimeBudget, should_stop: ShouldStop) -> None:
        """Work through the proofs, cheap ones first.

        Raises:
            ContradictionError: no table fits.
        """
        counts, until = self.counts, budget.until
        self._settle(by_leaves(counts), How.LEAF)
        self._settle(propagate(counts, self.boxes, until), How.PROPAGATION)
        estimated = estimate(counts, self.boxes, until)
        self.estimate = estimated.estimate
        self._settle(estimated.boxes, How.CERTIFICATE)
        is_over = should_stop(settled(counts, self.boxes))
        # A clock that has run out leaves the search with the tables that it is given.
        clock = budget.search_clock()
        clock = clock.part(0.0) if is_over else clock
        found = search(counts, self.boxes, self._true_numbers(truth), self._likely(), clock)
        self.reached = found.reached_low, found.reached_high
        self.left = (DECIDED,) if is_over and found.left else found.left
        before, now = self.boxes, found.boxes
        self._settle(now, How.SOLVER)
        if (before.low != now.low).any() or (before.high != now.high).any():
            estimated = estimate(counts, now, until)
            self._settle(estimated.boxes, How.SOLVER)
            if isinstance(estimated.estimate, Estimate):
                self.estimate = estimated.estimate

    def _settle(self, boxes: Propagated, by: How) -> None:
        """Take narrower boxes, and write down by what cells were settled that nothing settled before."""
        self.boxes = boxes
        for cell in np.flatnonzero(settled(self.counts, boxes) >= 0).tolist():
            self.how[cell] = self.how[cell] or by

    def _true_numbers(self, truth: IntArray | None) -> IntArray | None:
        if truth is None or self.counts.width > 1:
            return truth
        return truth[:, 1:]

    def _likely(self) -> IntArray:
        """Return whole numbers (C, w) near the estimate, for a search to begin with."""
        if isinstance(self.estimate, Undetermined):
            return self.boxes.low
        shares = self.estimate.values[:, -self.counts.width :]
        near = np.rint(shares * self.counts.sizes[:, None]).astype(np.int64)
        return np.clip(near, self.boxes.low, self.boxes.high)

    def _estimate(self) -> Estimate | Undetermined:
        """Return the estimate; none where the file tells more of people who are not certain than it was made from."""
        is_whole = self.counts.scaled is None or (settled(self.counts, self.boxes) >= 0).all()
        return self.estimate if is_whole else MORE_IS_TOLD

    def result(self, seconds: float) -> Bounds:
        """Return all of it, by class."""
        low, high = by_class(self.counts, self.boxes.low, self.boxes.high)
        reached_low, reached_high = by_class(self.counts, *self.reached)
        return Bounds(
            low=low,
            high=high,
            reached_low=reached_low,
            reached_high=reached_high,
            how=tuple(self.how),
            row=self.boxes.row,
            estimate=self._estimate(),
            problem=self.problem,
            left=self.left,
            seconds=seconds,
        )
