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
from dataclasses import replace

import numpy as np

from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System
from treewarden.audit.worlds.asking import Asking
from treewarden.audit.worlds.clock import Clock, OutOfTimeError, clock
from treewarden.audit.worlds.decide import decide_certain, decide_rest, first_world
from treewarden.audit.worlds.enough import DECIDED, Watch
from treewarden.audit.worlds.facts.facts import Facts, with_splits, without_splits
from treewarden.audit.worlds.facts.intervals import with_intervals
from treewarden.audit.worlds.found.changes import change_many
from treewarden.audit.worlds.found.check import without_false_places, without_false_splits
from treewarden.audit.worlds.found.mend import mend_stuck
from treewarden.audit.worlds.found.open import may_be_certain
from treewarden.audit.worlds.found.pool import Pool
from treewarden.audit.worlds.found.swaps import swap_stuck, swap_worst
from treewarden.audit.worlds.helpers import Helpers
from treewarden.audit.worlds.listing import list_worlds
from treewarden.audit.worlds.outcome import inconsistent, outcome
from treewarden.audit.worlds.proofs.bounds import ContradictionError, closed_form, spread
from treewarden.audit.worlds.proofs.propagate import propagate
from treewarden.audit.worlds.queries import Asker
from treewarden.audit.worlds.result import OUT_OF_TIME, Worlds
from treewarden.audit.worlds.sampling import draw_worlds, estimate
from treewarden.audit.worlds.sharpen import sharpen
from treewarden.audit.worlds.state import ALL_TIERS, Enough, Run, Tiers, never
from treewarden.audit.worlds.witness import MOST_WITNESSES
from treewarden.ppdm_models.arrays import BoolArray, IntArray

log = logging.getLogger(__name__)
WITNESS_SHARE = 0.1
"""Of the budget; the last part is for the tables that a report shows."""
FEW_DRAWS = 0.05
"""Of the work that may be spent on independent draws, where no clause waits for what they tell."""
MOST_UNREAD = 100
"""Questions whose answers stand in reports only, and no clause reads."""
UNREAD = "not every value was asked for, as no clause of the policy reads which are ruled out"
LOST = "three processes that were asked about some of them died"


def reason(
    system: System,
    *,
    budget_seconds: float = 20.0,
    until: Clock | None = None,
    strict_ties: bool = False,
    tiers: Tiers = ALL_TIERS,
    asks_rest: bool = True,
    enough: Enough = never,
    jobs: int | None = 1,
) -> Worlds | Undetermined:
    """Return what a tree's rows prove in whole records: every cell certain, possible otherwise, or not decided.

    All of it ends with the budget, or with ``until`` where that is given: what is cut off then is not decided.
    ``strict_ties`` is for a learner known to take the first of equally good splits. Undetermined where records
    carry weights. Without ``asks_rest`` few questions are put beyond who is certain: where nothing reads the answers.
    Once ``enough`` is known no more single questions are put at all. Where there are many, ``jobs`` processes are asked
    side by side (None: as many as there is room for); it makes no difference to the answer while the budget lasts.
    """
    until = clock(budget_seconds) if until is None else until
    began = until.now()
    bare = without_splits(system, strict_ties)
    if isinstance(bare, Undetermined):
        return bare
    truth = _truth(bare)
    bare = bare if truth is None else without_false_places(bare, truth)
    facts = _prepared(bare, system, truth, until)
    try:
        run = Run(facts or bare, closed_form(bare), Pool(bare), until.share(1 - WITNESS_SHARE))
        if truth is not None:
            # A row that the true table breaks is no fact, so it is a world whatever time there was to look at rows.
            run.pool.add(truth[None])
        if facts is None:
            run.said.append(f"{OUT_OF_TIME} before anything could be tried")
        else:
            _work_out(run, tiers, truth, enough, Helpers(jobs), asks_rest=asks_rest)
    except ContradictionError as contradiction:
        return inconsistent(bare, contradiction.says, until.now() - began)
    if not run.pool.is_empty and facts is not None:
        swap_worst(run.facts, run.pool, run.worst(MOST_WITNESSES), until)
    return replace(outcome(run, truth, until), seconds=until.now() - began)


def _prepared(bare: Facts, system: System, truth: IntArray | None, until: Clock) -> Facts | None:
    """Return the facts with what the choice of splits says; None where time is over: half of it shows nothing."""
    try:
        facts = with_intervals(with_splits(bare, system, until), until)
        if truth is not None:
            facts = with_intervals(without_false_splits(facts, truth, until), until)
        until.check()
    except OutOfTimeError:
        return None
    return facts


def _truth(facts: Facts) -> IntArray | None:
    truth = facts.case.population.truth
    if isinstance(truth, Undetermined) or (truth != np.rint(truth)).any():
        return None
    return facts.arranged(truth)


def _work_out(
    run: Run,
    tiers: Tiers,
    truth: IntArray | None,
    enough: Enough,
    helpers: Helpers,
    *,
    asks_rest: bool,
) -> None:
    """Run the tiers in order, until time is over or enough is known.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    watch = Watch(run, enough)
    try:
        if not _in_bulk(run, tiers, truth, watch):
            _one_by_one(run, tiers, watch, helpers, asks_rest=asks_rest)
    except OutOfTimeError:
        log.debug("the budget was used up in the midst of a question")
    if tiers.posterior:
        estimate(run)
    if run.clock.is_over:
        run.said.append(OUT_OF_TIME)
    elif watch.is_over:
        run.said.append(DECIDED)


def _in_bulk(run: Run, tiers: Tiers, truth: IntArray | None, watch: Watch) -> bool:
    """Prove and find what can be of many cells at a time; return whether all worlds were listed.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    spread(run.facts, run.bounds)
    if tiers.propagate:
        propagate(run.facts, run.bounds, run.clock, alone=True)
    if tiers.enumerate is not None and list_worlds(run, tiers.enumerate):
        return True
    if tiers.propagate:
        propagate(run.facts, run.bounds, run.clock)
    if tiers.swaps:
        change_many(run.facts, run.pool, run.not_moved, run.clock)
    is_decided = not run.pool.is_empty and watch.is_enough()
    if tiers.swaps and is_decided:
        # Draws take long in large tables; what is left to tell then is who else is certain.
        wanted = may_be_certain(run.facts, run.bounds, run.pool)
        swap_stuck(run.facts, run.pool, wanted, run.clock)
    draw_worlds(run, tiers, truth, FEW_DRAWS if is_decided else 1.0)
    if tiers.solver and run.pool.is_empty:
        first_world(Asker(run.facts, run.bounds, run.pool, run.clock))
    if tiers.swaps:
        change_many(run.facts, run.pool, run.not_moved, run.clock)
        wanted = may_be_certain(run.facts, run.bounds, run.pool)
        swap_stuck(run.facts, run.pool, wanted, run.clock)
    return False


def _one_by_one(run: Run, tiers: Tiers, watch: Watch, helpers: Helpers, *, asks_rest: bool) -> None:
    """Ask of single cells, those first that a verdict is likely to hang on.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    asking = Asking(run.facts, run.bounds, run.pool, run.clock, watch.is_enough, helpers)
    try:
        _ask(run, tiers, watch, asking, asks_rest=asks_rest)
    finally:
        if asking.lost:
            run.said.append(LOST)


def _ask(run: Run, tiers: Tiers, watch: Watch, asking: Asking, *, asks_rest: bool) -> None:
    if tiers.swaps and not watch.is_enough():
        wanted = may_be_certain(run.facts, run.bounds, run.pool)
        mend_stuck(run.facts, run.pool, wanted, run.clock)
    if tiers.solver:
        decide_certain(asking)
    if tiers.swaps and not watch.is_enough():
        _look_around(run, run.not_moved & (run.pool.low > 0))
    if tiers.solver:
        sharpen(asking)
    if tiers.swaps and not watch.is_enough():
        _look_around(run, run.not_moved)
    if tiers.solver and decide_rest(asking, None if asks_rest else MOST_UNREAD):
        run.said_of_values.append(UNREAD)


def _look_around(run: Run, wanted: BoolArray) -> None:
    """Look for worlds one or two swaps away in which the wanted cells differ."""
    swap_stuck(run.facts, run.pool, wanted, run.clock)
    mend_stuck(run.facts, run.pool, wanted, run.clock)
