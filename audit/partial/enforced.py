"""The estimate where other splits on known columns would beat the chosen ones: with what the choice says put in.

Rows that are broken are put in as tangents, the greatest entropy under them is found by its dual in one multiplier
each, and what that breaks is put in again. The dual bounds the greatest entropy of all tables that fulfil the rows, and
so how far the result is from the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.estimate.posterior import Posterior
from treewarden.audit.partial.allowance import Allowance
from treewarden.audit.partial.cut_lumps import Lumps, apart, lumps_of, slopes, together
from treewarden.audit.partial.cuts import Cut, Problem, broken
from treewarden.audit.partial.margins import MOST_GAP, ROUNDS, off_by
from treewarden.audit.partial.splits import Held
from treewarden.ppdm_models.arrays import FloatArray

SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class Under:
    """The people of each part, as somebody believes them to be spread who heeds the choice of splits.

    ``gap`` bounds how far it is from the optimum, in records times nats, what rows have to spare included; ``is_sure``
    says that all rows that were put in bind in every table.
    """

    parts: tuple[Held, ...]
    gap: float
    is_sure: bool


def enforced(problem: Problem, without: FloatArray, allowance: Allowance) -> Posterior | None:
    """Return the estimate with what the choice of splits says put in; None where it was not found, or is too large.

    A candidate binds only if a learner could have compared it. Where a branch of one may have too few people for that
    in some table, the ends span this estimate and that ``without`` such rows, (P, m).
    """
    under = spread_under(problem, allowance)
    if under is None:
        return None
    found = _posterior(problem, under)
    return found if under.is_sure else _spanning(found, without)


def spread_under(problem: Problem, allowance: Allowance) -> Under | None:
    """Return the people as they are spread with the rows put in; None where it was not found, or is too large."""
    cuts: list[Cut] = []
    spread, gap, spare = tuple(each.held for each in problem.parts), 0.0, 0.0
    start = _Start(np.log(np.maximum(problem.classes.ravel(), SMALLEST)), np.zeros(0))
    for _ in range(ROUNDS):
        more = list(broken(problem, spread))
        if not more:
            is_sure = all(each.is_sure for each in cuts)
            return None if gap > MOST_GAP else Under(spread, gap + spare, is_sure)
        new = [each for each in more if each is not None]
        if len(new) < len(more):
            return None
        # An older tangent of the same candidate that does not hold the table back is none that has to stay.
        again = {each.key for each in new}
        kept = [i for i, each in enumerate(cuts) if start.of_row[i] > 0 or each.key not in again]
        cuts, start = [*(cuts[i] for i in kept), *new], replace(start, of_row=start.of_row[kept])
        parts = [lumps_of(problem, each, cuts) for each in problem.parts]
        margins = together(parts)
        found = margins.under(slopes(parts, cuts), start.over(parts), allowance)
        if found is None:
            return None
        gap = found.gap + sum(each.gap for each in parts)
        spread = apart(parts, found.table)
        start = start.after(parts, found.multipliers)
        # Without what rows have to spare the greatest entropy is less, by about that.
        spare = float(np.abs(start.of_row) @ np.array([each.spare for each in cuts]))
    return None


@dataclass(frozen=True, slots=True)
class _Start:
    """Multipliers to start from: of each leaf and class, (L * m,), and of the rows there were."""

    of_cell: FloatArray
    of_row: FloatArray

    def over(self, parts: Sequence[Lumps]) -> FloatArray:
        """Return multipliers of the places of all parts, then of the rows."""
        return np.concatenate([*(each.of_places(self.of_cell) for each in parts), self.of_row])

    def after(self, parts: Sequence[Lumps], multipliers: FloatArray) -> _Start:
        """Return what was found, given multipliers of the places of all parts, then of the rows."""
        of_cell, ends = self.of_cell.copy(), np.cumsum([len(each.margins.demand) for each in parts])
        *places, rows = np.split(multipliers, ends)
        for part, own in zip(parts, places, strict=True):
            of_cell[part.at] = part.of_cells(own)
        return _Start(of_cell, rows)


def _spanning(found: Posterior, without: FloatArray) -> Posterior:
    low, high = np.minimum(found.low, without), np.maximum(found.high, without)
    return Posterior(found.values, found.decided, low, high)


def _posterior(problem: Problem, under: Under) -> Posterior:
    """Return the shares of each profile, (P, m), and between which ends those of the optimum are (Pinsker)."""
    people = problem.people
    held = np.sum([each.of_each_class(problem.classes.shape[1]) for each in under.parts], axis=0)
    values = held / people[:, None]
    off = off_by(under.gap, people)[:, None]
    decided = np.ones(len(values), dtype=bool)
    return Posterior(values, decided, np.maximum(values - off, 0.0), np.minimum(values + off, 1.0))
