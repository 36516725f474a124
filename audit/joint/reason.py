"""All that rows over people prove, as far as the time goes: cheap proofs first, then the estimate, then the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treewarden.audit.joint.counts import Counts, by_class, counts_of
from treewarden.audit.joint.estimate import estimate
from treewarden.audit.joint.propagation import NO_ROW, Propagated, by_leaves, propagate, settled
from treewarden.audit.joint.result import Guess, How, Joint
from treewarden.audit.joint.rows import JointRows
from treewarden.audit.joint.search import search
from treewarden.audit.reading import Undetermined
from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.proofs.bounds import ContradictionError
from treewarden.ppdm_models.arrays import IntArray

Enough = Callable[[IntArray], bool]
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
    rows: JointRows,
    *,
    truth: IntArray | None = None,
    until: Clock,
    searching: float | None = None,
    is_certain_enough: Enough = never,
) -> Joint:
    """Return what rows prove of each cell, what other tables were found, and the estimate.

    The estimate is looked for ``until`` then; other tables, and proofs that there are none, for so many seconds more,
    else until then as well.
    ``truth``, (C, m) whole numbers, is the table that the owner has: it is the first table found, if it fits. Once
    enough is certain no solver is asked.
    """
    began = until.now()
    run = _Run(counts_of(rows))
    try:
        run.go(truth, until, searching, is_certain_enough)
    except ContradictionError as contradiction:
        run.problem = "; ".join(contradiction.says)
    return run.result(until.now() - began)


class _Run:
    """What is known so far: boxes, by what cells were settled, and the tables found."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        cells = len(counts.sizes)
        self.boxes = Propagated(*counts.start(), np.full(cells, NO_ROW, dtype=np.intp))
        self.reached = self.boxes.high + 1, self.boxes.low - 1
        self.how: list[How | str] = [""] * cells
        self.guess: Guess | Undetermined = Undetermined("no estimate: no table fits")
        self.problem = ""
        self.left: tuple[str, ...] = ()

    def go(
        self, truth: IntArray | None, until: Clock, searching: float | None, enough: Enough
    ) -> None:
        """Work through the proofs, cheap ones first.

        Raises:
            ContradictionError: no table fits.
        """
        counts = self.counts
        self._settle(by_leaves(counts), How.LEAF)
        self._settle(propagate(counts, self.boxes, until), How.PROPAGATION)
        estimated = estimate(counts, self.boxes, until)
        self.guess = estimated.guess
        self._settle(estimated.boxes, How.CERTIFICATE)
        is_over = enough(settled(counts, self.boxes))
        # A clock that has run out leaves the search with the tables that it is given.
        clock = until if searching is None else replace(until, end=until.now() + searching)
        clock = clock.part(0.0) if is_over else clock
        found = search(counts, self.boxes, self._known(truth), self._likely(), clock)
        self.reached = found.reached_low, found.reached_high
        self.left = (DECIDED,) if is_over and found.left else found.left
        before, now = self.boxes, found.boxes
        self._settle(now, How.SOLVER)
        if (before.low != now.low).any() or (before.high != now.high).any():
            estimated = estimate(counts, now, until)
            self._settle(estimated.boxes, How.SOLVER)
            if isinstance(estimated.guess, Guess):
                self.guess = estimated.guess

    def _settle(self, boxes: Propagated, by: How) -> None:
        """Take narrower boxes, and write down by what cells were settled that nothing settled before."""
        self.boxes = boxes
        for cell in np.flatnonzero(settled(self.counts, boxes) >= 0).tolist():
            self.how[cell] = self.how[cell] or by

    def _known(self, truth: IntArray | None) -> IntArray | None:
        if truth is None or self.counts.width > 1:
            return truth
        return truth[:, 1:]

    def _likely(self) -> IntArray:
        """Return whole numbers (C, w) near the estimate, for a search to begin with."""
        if isinstance(self.guess, Undetermined):
            return self.boxes.low
        shares = self.guess.shares[:, -self.counts.width :]
        near = np.rint(shares * self.counts.sizes[:, None]).astype(np.int64)
        return np.clip(near, self.boxes.low, self.boxes.high)

    def _told(self) -> Guess | Undetermined:
        """Return the estimate; none where the file tells more of people who are not certain than it was made from."""
        is_whole = self.counts.scaled is None or (settled(self.counts, self.boxes) >= 0).all()
        return self.guess if is_whole else MORE_IS_TOLD

    def result(self, seconds: float) -> Joint:
        """Return all of it, by class."""
        low, high = by_class(self.counts, self.boxes.low, self.boxes.high)
        reached_low, reached_high = by_class(self.counts, *self.reached)
        return Joint(
            low,
            high,
            reached_low,
            reached_high,
            tuple(self.how),
            self.boxes.row,
            self._told(),
            self.problem,
            self.left,
            seconds,
        )
