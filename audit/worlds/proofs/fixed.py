"""What whole records give the maximum-entropy model: cells that are fixed, and split rows as whole-number intervals."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.audit.worlds.clock import OutOfTimeError, clock
from treewarden.audit.worlds.facts.facts import facts_of
from treewarden.audit.worlds.facts.intervals import with_intervals
from treewarden.audit.worlds.proofs.bounds import closed_form, spread
from treewarden.audit.worlds.proofs.propagate import propagate
from treewarden.ppdm_models.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class FixedCells:
    """Proved ends of each cell, shape (P, m), by profile; a cell is fixed where they agree.

    ``intervals`` holds, per number of a split family in the system, the least and the greatest count (A,) of the first
    class on the left of each admissible candidate (the first branch of ``branch_of_bins``): with two classes and
    known leaf counts that is all the row says. Families it cannot be said of are left out.
    """

    low: IntArray
    high: IntArray
    intervals: Mapping[int, tuple[IntArray, IntArray]]

    @property
    def is_fixed(self) -> BoolArray:
        """Whether each cell is known, shape (P, m)."""
        return np.asarray(self.low == self.high)


def fixed_cells(system: System, *, seconds: float = 5.0) -> FixedCells | Undetermined:
    """Return what propagation over whole records proves, without any solver.

    Raises:
        ContradictionError: no world obeys the rows.
    """
    facts = facts_of(system)
    if isinstance(facts, Undetermined):
        return facts
    facts = with_intervals(facts)
    bounds = closed_form(facts)
    spread(facts, bounds)
    with suppress(OutOfTimeError):
        propagate(facts, bounds, clock(seconds))
    index = {id(family): number for number, family in enumerate(system.families)}
    intervals = {
        index[id(split.family)]: (split.low, split.high)
        for found in facts.splits.values()
        for split in found
        if split.low is not None and split.high is not None
    }
    return FixedCells(
        np.asarray(facts.profiles(bounds.low)), np.asarray(facts.profiles(bounds.high)), intervals
    )
