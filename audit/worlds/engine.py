"""The tiers in order: cheap proofs and cheap witnesses first, then the solver, within one budget, failing safe."""

from __future__ import annotations

import logging
import time

import numpy as np

from audit.reading import Undetermined
from audit.system.system import System
from audit.worlds.clock import clock
from audit.worlds.decide import decide
from audit.worlds.facts.facts import Facts, facts_of
from audit.worlds.facts.intervals import with_intervals
from audit.worlds.found.check import without_what_breaks
from audit.worlds.found.mend import mend_stuck
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
from ppdm_models.arrays import IntArray

log = logging.getLogger(__name__)
WITNESS_SECONDS = 5.0


def reason(
    system: System,
    *,
    budget_seconds: float = 20.0,
    strict_ties: bool = False,
    tiers: Tiers = ALL_TIERS,
) -> Worlds | Undetermined:
    """Return what a tree's rows prove in whole records: every cell certain, possible otherwise, or not decided.

    ``strict_ties`` is for a learner known to take the first of equally good splits. Undetermined where records carry
    weights.
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
        _work_out(run, tiers, truth)
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


def _work_out(run: Run, tiers: Tiers, truth: IntArray | None) -> None:
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
    drawn = draw_worlds(run, tiers, truth)
    if tiers.swaps:
        swap_stuck(run.facts, run.pool, run.bounds, run.clock)
        mend_stuck(run.facts, run.pool, run.bounds, run.clock)
    log.info("%d cells to decide", int(run.pool.stuck(run.bounds.low, run.bounds.high).sum()))
    if tiers.solver:
        asker = Asker(run.facts, run.bounds, run.pool, run.clock)
        decide(asker)
        sharpen(asker)
    if tiers.posterior:
        estimate(run, drawn)
    if run.clock.is_over:
        run.said.append("the budget was used up")
