"""The one driver of the engine: cheap proofs first, then the estimate, then the search, as far as the time goes."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from treewarden.audit.bounds import NO_ROW, ContradictionError, RowBounds
from treewarden.audit.engine.amounts import (
    MOST_CELLS,
    ReachedAmounts,
    by_programs,
    determined,
    fits_nearly,
    hold_ranges,
    reached_from,
    solved,
)
from treewarden.audit.engine.counts import by_class, by_leaves, counts_of, propagate, settled
from treewarden.audit.engine.dual import on_one_thread
from treewarden.audit.engine.newton_steps import estimate
from treewarden.audit.engine.problem import Estimate, How, Problem, ProblemBounds
from treewarden.audit.engine.search import search
from treewarden.audit.engine.time_budget import (
    ShouldStop,
    Tier,
    TierRun,
    TimeBudget,
    never,
    run_tiers,
)
from treewarden.audit.reading import MORE_IS_TOLD, Undetermined
from treewarden.ppdm_models.arrays import IntArray

DECIDED = "the fast proofs decided the verdict, so no further proofs were searched for"
NO_SHARES = Undetermined("the model predicts a number, so there are no class shares to infer")
NOT_SOLVED = (
    f"more than {MOST_CELLS:,} groups of people are not decided, too many to combine all "
    "leaves: each leaf was evaluated on its own"
)
NO_TABLE = "no consistent table is known, so no other tables were searched for"


def reason(
    problem: Problem,
    *,
    truth: IntArray | None = None,
    budget: TimeBudget,
    should_stop: ShouldStop[IntArray] = never,
) -> ProblemBounds:
    """Return what the rows of a problem prove of each group, what other tables were found, and the estimate.

    ``truth``, (C, m) whole numbers, is the table that the owner has: it is the first table found, if it fits. Once
    ``should_stop`` says so of the class that each group certainly has by now, (C,), -1 for none, no solver is asked. Of
    a problem that is incomplete no other tables are looked for, as whoever knows the rest may rule them out, and there
    is no estimate, which amounts never have.
    """
    began = time.monotonic()
    budget = budget.without_search() if problem.incomplete else budget
    run = _BoundState(problem, truth, budget, should_stop)
    try:
        with on_one_thread():
            run_tiers(run.tiers())
    except ContradictionError as contradiction:
        run.problem = "; ".join(contradiction.says)
    bounds = run.result(time.monotonic() - began)
    if problem.amounts is None and problem.incomplete:
        return of_part(bounds, problem.incomplete)
    return bounds


def of_part(bounds: ProblemBounds, missing: str) -> ProblemBounds:
    """Return what some of what is known proves, which holds; what is left open may be settled by the rest."""
    return replace(bounds, estimate=Undetermined(f"no inference: {missing}"), left=(missing,))


class _BoundState:
    """What is known so far: boxes, by what cells were settled, and the tables found."""

    def __init__(
        self,
        problem: Problem,
        truth: IntArray | None,
        budget: TimeBudget,
        should_stop: ShouldStop[IntArray],
    ) -> None:
        self.truth, self.budget, self.should_stop = truth, budget, should_stop
        self.of, self.counts = problem, counts_of(problem)
        counts = self.counts
        cells = len(counts.sizes)
        self.boxes = RowBounds(*counts.start(), np.full(cells, NO_ROW, dtype=np.intp))
        self.reached = self.boxes.high + 1, self.boxes.low - 1
        self.how: list[How | str] = [""] * cells
        self.estimate: Estimate | Undetermined = Undetermined("no inference: no table fits")
        self.problem = ""
        self.left: tuple[str, ...] = ()
        self.tables: ReachedAmounts | None = None

    def tiers(self) -> dict[Tier, TierRun]:
        """Return the tiers of the problem; each raises ContradictionError where no table fits."""
        tiers: dict[Tier, TierRun] = {
            Tier.ALONE: self._settle_alone,
            Tier.PROPAGATION: self._propagate,
        }
        if self.of.amounts is None:
            return {**tiers, Tier.CERTIFICATES: self._certify, Tier.QUESTIONS: self._search}
        return {**tiers, Tier.CERTIFICATES: self._bound_amounts}

    def _settle_alone(self) -> None:
        self._settle(by_leaves(self.counts), How.LEAF)

    def _propagate(self) -> None:
        self._settle(propagate(self.counts, self.boxes, self.budget.until), How.PROPAGATION)

    def _certify(self) -> None:
        """Take the estimate, and what its multipliers prove."""
        estimated = estimate(self.counts, self.boxes, self.budget.until)
        self.estimate = estimated.estimate
        self._settle(estimated.boxes, How.CERTIFICATE)

    def _search(self) -> None:
        """Look for other tables, and take the estimate again within what that proves."""
        counts, budget = self.counts, self.budget
        is_over = self.should_stop(settled(counts, self.boxes))
        # A clock that has run out leaves the search with the tables that it is given.
        clock = budget.search_clock()
        clock = clock.part(0.0) if is_over else clock
        found = search(counts, self.boxes, self._true_numbers(), self._likely(), clock)
        self.reached = found.reached_low, found.reached_high
        self.left = (DECIDED,) if is_over and found.left else found.left
        before, now = self.boxes, found.boxes
        self._settle(now, How.SOLVER)
        if (before.low != now.low).any() or (before.high != now.high).any():
            estimated = estimate(counts, now, budget.until)
            self._settle(estimated.boxes, How.SOLVER)
            if isinstance(estimated.estimate, Estimate):
                self.estimate = estimated.estimate

    def _bound_amounts(self) -> None:
        """Work through the proofs of what people's amounts add up to: by ranges, by weights, by linear programs."""
        counts, until, truth = self.counts, self.budget.until, self.truth
        self.estimate = NO_SHARES
        self._settle(hold_ranges(counts, self.boxes, until), How.PROPAGATION)
        if truth is not None and fits_nearly(counts, truth[:, 0]):
            self.tables = reached_from(counts, truth[:, 0])
        self.left = self._join_rows()
        self._settle(hold_ranges(counts, self.boxes, until), How.CERTIFICATE)
        if self.tables is not None:
            self.reached = self.tables.low[:, None], self.tables.high[:, None]

    def _join_rows(self) -> tuple[str, ...]:
        """Prove what all rows together say of open amounts; return what was not tried.

        Raises:
            ContradictionError: no table fits.
        """
        counts, is_open = self.counts, (self.boxes.low < self.boxes.high)[:, 0]
        parts = self.of.parts
        if len(parts) < 2 or not is_open.any():
            return ()
        found = solved(counts, parts, is_open)
        if found is None:
            return (NOT_SOLVED,)
        boxes = determined(counts, found, self.boxes)
        self._settle(propagate(counts, boxes, self.budget.until), How.CERTIFICATE)
        if self.of.incomplete:
            return (self.of.incomplete,)
        if self.tables is None:
            return (NO_TABLE,)
        if not (self.boxes.low < self.boxes.high)[found.cells].any():
            return ()
        clock = self.budget.search_clock()
        boxes, why = by_programs(counts, found, self.tables, self.boxes, clock)
        self._settle(boxes, How.SOLVER)
        return (why,) if why else ()

    def _settle(self, boxes: RowBounds, by: How) -> None:
        """Take narrower boxes, and write down by what cells were settled that nothing settled before."""
        self.boxes = boxes
        for cell in np.flatnonzero(settled(self.counts, boxes) >= 0).tolist():
            self.how[cell] = self.how[cell] or by

    def _true_numbers(self) -> IntArray | None:
        if self.truth is None or self.counts.width > 1:
            return self.truth
        return self.truth[:, 1:]

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

    def result(self, seconds: float) -> ProblemBounds:
        """Return all of it, by class."""
        low, high = by_class(self.counts, self.boxes.low, self.boxes.high)
        reached_low, reached_high = by_class(self.counts, *self.reached)
        return ProblemBounds(
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
            apart_low=None if self.tables is None else self.tables.apart_low,
            apart_high=None if self.tables is None else self.tables.apart_high,
        )
