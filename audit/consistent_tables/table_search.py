"""Where not all tables can be listed: cheap witnesses first, then draws, then the solver, question by question.

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

from functools import partial

import numpy as np

from treewarden.audit.consistent_tables.decide import (
    QuestionQueue,
    decide_certain,
    decide_rest,
    first_world,
)
from treewarden.audit.consistent_tables.facts.facts import Facts, with_class_counts
from treewarden.audit.consistent_tables.portions import Helpers, Single
from treewarden.audit.consistent_tables.proofs.propagate import propagate
from treewarden.audit.consistent_tables.queries import Asker, CellQuestion, QuestionEffort
from treewarden.audit.consistent_tables.result import SAMPLING_STOPPED, ReasoningState, Tiers, Watch
from treewarden.audit.consistent_tables.witnesses.changes import change_many
from treewarden.audit.consistent_tables.witnesses.one_swap_search import mend_stuck, swap_stuck
from treewarden.audit.consistent_tables.witnesses.sample import (
    SAMPLING_OUT_OF_TIME,
    GaveUpError,
    Sampler,
    drawn_posterior,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import first_broken, may_be_certain
from treewarden.audit.engine.time_budget import LINES_SHARE, Tier, TierRun
from treewarden.audit.progress import Clock, OutOfTimeError
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IntArray

FEW_DRAWS = 0.05
"""Of the work that may be spent on independent draws, where no clause waits for what they tell."""
MOST_UNREAD = 100
"""Questions whose answers stand in reports only, and no clause reads."""
UNREAD = "not every value was tried, because no check of the policy uses ruled-out values"
LOST = "three processes that searched for some of them died"


def search_tiers(
    run: ReasoningState,
    tiers: Tiers,
    truth: IntArray | None,
    watch: Watch,
    *,
    asks_rest: bool,
    jobs: int | None,
) -> dict[Tier, TierRun]:
    """Return the tiers that find what can be of many cells at a time, and then ask of single ones."""
    found: dict[Tier, TierRun] = {
        Tier.WITNESSES: partial(_draw, run, tiers, truth, watch),
        Tier.QUESTIONS: partial(_one_by_one, run, tiers, watch, Helpers(jobs), asks_rest=asks_rest),
    }
    if tiers.propagate:
        found[Tier.PROPAGATION] = partial(propagate, run.facts, run.bounds, run.clock)
    if tiers.swaps:
        found[Tier.CHANGES] = partial(_change, run)
    if tiers.lines and tiers.solver:
        found[Tier.CERTIFICATES] = partial(_prove_by_lines, run)
    return found


def _change(run: ReasoningState) -> None:
    change_many(run.pool.facts, run.pool, run.not_moved, run.clock)


def _prove_by_lines(run: ReasoningState) -> None:
    if run.facts.lines and run.pool.first is not None:
        Asker(run.facts, run.bounds, run.pool, run.clock.share(LINES_SHARE)).prove_by_lines()


def _draw(run: ReasoningState, tiers: Tiers, truth: IntArray | None, watch: Watch) -> None:
    """Draw tables, and look for others near all that are known.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    is_decided = not run.pool.is_empty and watch.is_enough()
    if tiers.swaps and is_decided:
        # Draws take long in large tables; what is left to tell then is who else is certain.
        wanted = may_be_certain(run.facts, run.bounds, run.pool)
        swap_stuck(run.pool.facts, run.pool, wanted, run.clock)
    draw_worlds(run, tiers, truth, FEW_DRAWS if is_decided else 1.0)
    if tiers.solver and run.pool.is_empty:
        first_world(Asker(run.facts, run.bounds, run.pool, run.clock))
    if tiers.swaps:
        _change(run)
        wanted = may_be_certain(run.facts, run.bounds, run.pool)
        swap_stuck(run.pool.facts, run.pool, wanted, run.clock)


def _one_by_one(
    run: ReasoningState, tiers: Tiers, watch: Watch, helpers: Helpers, *, asks_rest: bool
) -> None:
    """Ask of single cells, those first that a verdict is likely to hang on.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    asking = QuestionQueue(run.facts, run.bounds, run.pool, run.clock, watch.is_enough, helpers)
    try:
        _ask(run, tiers, watch, asking, asks_rest=asks_rest)
    finally:
        if asking.lost:
            run.said.append(LOST)


def _ask(
    run: ReasoningState, tiers: Tiers, watch: Watch, asking: QuestionQueue, *, asks_rest: bool
) -> None:
    if tiers.swaps and not watch.is_enough():
        wanted = may_be_certain(run.facts, run.bounds, run.pool)
        mend_stuck(run.pool.facts, run.pool, wanted, run.clock)
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


def _look_around(run: ReasoningState, cells: BoolArray) -> None:
    """Look for worlds one or two swaps away in which these cells differ."""
    swap_stuck(run.pool.facts, run.pool, cells, run.clock)
    mend_stuck(run.pool.facts, run.pool, cells, run.clock)


# Narrows the gap between proved and witnessed bounds of the most disclosed profiles, until the worst one is known.

MOST_QUESTIONS = 60
EFFORT = QuestionEffort(10_000, 30, 1.0)


def sharpen(asking: QuestionQueue) -> None:
    """Ask how small the largest share can be, until the greatest proved floor is the greatest that is left.

    A floor of zero or of everybody is decided before; here are the shares between. The most disclosed cell is asked
    first whether it can fall to what is proved of it, then to the middle of what is left, and so on: each question
    hangs on the answer to the one before, so they are put one after the other.
    """
    tried: set[tuple[int, int, int]] = set()
    for _ in range(MOST_QUESTIONS):
        question = None if asking.pool.first is None or asking.is_over() else _next(asking, tried)
        if question is None:
            return
        tried.add((*question.cell, question.target))
        asking.put([Single(question, EFFORT)], may_be_certain)


def _next(asking: QuestionQueue, tried: set[tuple[int, int, int]]) -> CellQuestion | None:
    """Return the next question of the cell with the greatest least share found, if its proved share is smaller."""
    size = np.maximum(asking.facts.counts, 1)[:, None]
    reached = np.where(asking.facts.counts[:, None] > 0, asking.pool.low / size, 0.0)
    worst = reached.max()
    if (asking.bounds.low / size).max() >= worst:
        return None
    for position, klass in np.argwhere(reached == worst).tolist():
        low = int(asking.bounds.low[position, klass])
        most = int(asking.pool.low[position, klass])
        for target in dict.fromkeys((low + 1, (low + most + 1) // 2, most)):
            if (position, klass, target) not in tried:
                return CellQuestion((position, klass), 1, target)
    return None


# Independent random tables: how far each cell moves, how probable each class is, and how much the splits imply.

STEPS = (1, 19, 80)
"""One first: where a single draw takes long, having it is better than losing more. Many together are quicker."""
FEWEST_DRAWS = 20
"""With fewer the intervals would be as wide as no answer."""
MOST_CELLS = 4e7
"""Cells of the tables that are kept for the posterior."""


def draw_worlds(
    run: ReasoningState, tiers: Tiers, truth: IntArray | None, effort: float = 1.0
) -> None:
    """Draw worlds into the pool, also from those with the true leaf counts; keep the draws from all worlds.

    ``effort`` is how much of the usual work is spent before the sampler gives up.
    """
    sampler = Sampler(run.facts, run.clock, 0, effort, run.pool.facts)
    drawn, gave_up = _drawn(run, sampler, tiers.most_draws)
    if gave_up and sum(map(len, drawn)) < FEWEST_DRAWS:
        drawn = []
    run.drawn = drawn
    if drawn:
        run.split_bits = sampler.bits()
    elif gave_up:
        run.posterior = run.split_bits = Undetermined(f"{SAMPLING_STOPPED}: {gave_up}")
    if truth is not None and not all(place.is_fixed for place in run.facts.places.values()):
        # A world with the true leaf counts is a world for whoever knows less of them.
        facts = with_class_counts(run.facts, truth)
        sampler = Sampler(facts, run.clock, 1, effort, run.pool.facts)
        _drawn(run, sampler, tiers.draws)


def estimate(run: ReasoningState) -> None:
    """Read the posterior off independent draws, within what is proved by now."""
    if run.drawn:
        tables = [table for some in run.drawn for table in some]  # views: together they are large
        run.posterior = drawn_posterior(run.facts, tables, run.bounds.low, run.bounds.high)


def _drawn(run: ReasoningState, sampler: Sampler, number: int) -> tuple[list[IntArray], str]:
    """Draw some worlds into the pool; where the sampler gives up, what it has drawn before stands."""
    drawn: list[IntArray] = []
    size = 0
    number = min(number, max(1, int(MOST_CELLS / max(run.bounds.low.size, 1)))) if number else 0
    while size < number:
        step = min(STEPS[min(len(drawn), len(STEPS) - 1)], number - size)
        try:
            tables = sampler.tables(step)
            _check(run.facts, tables, run.clock)
        except GaveUpError as reason:
            return drawn, str(reason)
        except OutOfTimeError:
            return drawn, SAMPLING_OUT_OF_TIME
        run.pool.add_some(tables, sampler.shows)
        drawn.append(tables)
        size += step
    return drawn, ""


def _check(facts: Facts, tables: IntArray, clock: Clock) -> None:
    """Check the first of some draws against every fact from its definition.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    broken = first_broken(facts, tables[0], clock)
    if broken is not None:
        raise AssertionError(f"the sampler broke {broken}")
