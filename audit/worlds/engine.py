"""The tiers in order: cheap proofs and cheap witnesses first, then the solver, within one budget, failing safe.

Which questions are worth asking, in this order:

1. Who may be certain: a profile that has one class in every world so far. Its verdict hangs on it, so the budget goes
   here first. One question each: is the cell all of the profile's records in every world?
2. How small the largest share can be (``world_bounds``): asked of the most disclosed cells, and of nobody where
   somebody is certain.
3. Which values are ruled out (``excluded_values``): cells that are 0 in every world so far. With two classes this is
   the first question; with many there are thousands, and no pack that ships has a clause on them. Then how far the
   cells go that no world moved. Where no clause reads either, few are asked, with little effort.

Before any search come worlds one change away, of which one pass shows nearly all cells to be possible otherwise. What
was not asked is not decided: never possible, never certain. When nothing is open that somebody reads, nothing is asked.
"""

from __future__ import annotations

import logging
import time

import numpy as np

from audit.reading import Undetermined
from audit.system.system import System
from audit.worlds.clock import clock
from audit.worlds.decide import decide_certain, decide_rest, first_world
from audit.worlds.facts.facts import Facts, facts_of
from audit.worlds.facts.intervals import with_intervals
from audit.worlds.found.changes import change_many
from audit.worlds.found.check import without_what_breaks
from audit.worlds.found.mend import mend_stuck
from audit.worlds.found.open import may_be_certain
from audit.worlds.found.pool import Pool
from audit.worlds.found.swaps import swap_stuck, swap_worst
from audit.worlds.listing import list_worlds
from audit.worlds.outcome import inconsistent, outcome
from audit.worlds.proofs.bounds import ContradictionError, closed_form, spread
from audit.worlds.proofs.propagate import propagate
from audit.worlds.queries import Asker
from audit.worlds.result import Worlds
from audit.worlds.sampling import draw_worlds, estimate
from audit.worlds.sharpen import sharpen
from audit.worlds.state import ALL_TIERS, Run, Tiers
from audit.worlds.witness import MOST_WITNESSES
from ppdm_models.arrays import BoolArray, IntArray

log = logging.getLogger(__name__)
WITNESS_SECONDS = 5.0
MOST_UNREAD = 100
"""Questions whose answers stand in reports only, and no clause reads."""
UNREAD = "not every value was asked for, as no clause of the policy reads which are ruled out"


def reason(
    system: System,
    *,
    budget_seconds: float = 20.0,
    strict_ties: bool = False,
    tiers: Tiers = ALL_TIERS,
    asks_rest: bool = True,
) -> Worlds | Undetermined:
    """Return what a tree's rows prove in whole records: every cell certain, possible otherwise, or not decided.

    ``strict_ties`` is for a learner known to take the first of equally good splits. Undetermined where records
    carry weights. Without ``asks_rest`` few questions are put beyond who is certain: where nothing reads the answers.
    """
    began = time.perf_counter()
    facts = facts_of(system, strict_ties)
    if isinstance(facts, Undetermined):
        return facts
    truth = _truth(facts)
    if truth is not None:
        facts = without_what_breaks(facts, truth)
    facts = with_intervals(facts)
    try:
        run = Run(facts, closed_form(facts), Pool(facts), clock(budget_seconds))
        if truth is not None:
            run.pool.add(truth[None])
        _work_out(run, tiers, truth, asks_rest=asks_rest)
    except ContradictionError as contradiction:
        return inconsistent(facts, contradiction.says, began)
    if not run.pool.is_empty and budget_seconds > 0:
        swap_worst(run.facts, run.pool, run.worst(MOST_WITNESSES), clock(WITNESS_SECONDS))
    return outcome(run, truth, began)


def _truth(facts: Facts) -> IntArray | None:
    truth = facts.case.population.truth
    if isinstance(truth, Undetermined) or (truth != np.rint(truth)).any():
        return None
    return facts.arranged(truth)


def _work_out(run: Run, tiers: Tiers, truth: IntArray | None, *, asks_rest: bool) -> None:
    """Run the tiers in order.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    if run.clock.is_over:
        run.said.append("the budget was used up before anything could be tried")
        return
    spread(run.facts, run.bounds)
    if tiers.propagate:
        propagate(run.facts, run.bounds, run.clock, alone=True)
    if tiers.enumerate is not None and list_worlds(run, tiers.enumerate):
        return
    if tiers.propagate:
        propagate(run.facts, run.bounds, run.clock)
    asker = Asker(run.facts, run.bounds, run.pool, run.clock)
    if tiers.swaps:
        change_many(run.facts, run.pool, run.not_moved, run.clock)
    drawn = draw_worlds(run, tiers, truth)
    if tiers.solver and run.pool.is_empty and not run.clock.is_over:
        first_world(asker)
    if tiers.swaps:
        change_many(run.facts, run.pool, run.not_moved, run.clock)
        _look_around(run, may_be_certain(run.facts, run.bounds, run.pool))
    if tiers.solver:
        decide_certain(asker)
    if tiers.swaps:
        _look_around(run, run.not_moved & (run.pool.low > 0))
    if tiers.solver:
        sharpen(asker)
    if tiers.swaps:
        _look_around(run, run.not_moved)
    if tiers.solver and decide_rest(asker, None if asks_rest else MOST_UNREAD):
        run.said.append(UNREAD)
    if tiers.posterior:
        estimate(run, drawn)
    if run.clock.is_over:
        run.said.append("the budget was used up")


def _look_around(run: Run, wanted: BoolArray) -> None:
    """Look for worlds one or two swaps away in which the wanted cells differ."""
    swap_stuck(run.facts, run.pool, wanted, run.clock)
    mend_stuck(run.facts, run.pool, wanted, run.clock)
