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
from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.audit.clock import Clock, OutOfTimeError, clock
from treewarden.audit.consistent_tables.decide import (
    QuestionQueue,
    decide_certain,
    decide_rest,
    first_world,
)
from treewarden.audit.consistent_tables.facts.facts import (
    Facts,
    with_class_counts,
    with_splits,
    without_splits,
)
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.outcome import MOST_WITNESSES, inconsistent, outcome, so_far
from treewarden.audit.consistent_tables.portions import Helpers, Single
from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError, closed_form, spread
from treewarden.audit.consistent_tables.proofs.propagate import propagate
from treewarden.audit.consistent_tables.queries import Asker, CellQuestion, QuestionEffort
from treewarden.audit.consistent_tables.result import (
    OUT_OF_TIME,
    ConsistentTables,
    ShouldStop,
    never,
)
from treewarden.audit.consistent_tables.state import ALL_TIERS, ReasoningState, Tiers
from treewarden.audit.consistent_tables.witnesses.changes import change_many
from treewarden.audit.consistent_tables.witnesses.enumerate import (
    EnumerationLimits,
    ListedReasons,
    data_sets,
    enumerated,
    place_tables,
)
from treewarden.audit.consistent_tables.witnesses.exact_posterior import TableNumbers
from treewarden.audit.consistent_tables.witnesses.one_swap_search import swap_stuck, swap_worst
from treewarden.audit.consistent_tables.witnesses.sample import (
    SAMPLING_OUT_OF_TIME,
    GaveUpError,
    Sampler,
)
from treewarden.audit.consistent_tables.witnesses.two_swap_search import mend_stuck
from treewarden.audit.consistent_tables.witnesses.uniform_posterior import (
    counted_posterior,
    drawn_posterior,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    WitnessPool,
    first_broken,
    may_be_certain,
    without_false_places,
    without_false_splits,
)
from treewarden.audit.engine.time_budget import WITNESS_SHARE
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import BoolArray, IntArray

# When to stop: once whoever asked knows enough, no more single questions are put.
#
# What an audit is for is a verdict, and a verdict often hangs on the first who is certain. Proofs and worlds only
# ever
# narrow what is open, so what was decided stays decided.

DECIDED = "the policy's verdict was decided without it"


@dataclass(eq=False)
class Watch:
    """Asks whether what is known by now is enough, whenever more is known than when it was asked last."""

    run: ReasoningState
    should_stop: ShouldStop
    is_over: bool = False
    seen: tuple[int, int] = field(default=(-1, -1))

    def is_enough(self) -> bool:
        """Return whether nothing that is still open is needed."""
        now = self.run.pool.size, self.run.bounds.moves
        if not self.is_over and now != self.seen:
            self.seen, self.is_over = now, self.should_stop(so_far(self.run))
        return self.is_over


# Draws the proved and the found ends of the most disclosed profiles together, until the worst of them is known.

MOST_QUESTIONS = 60
EFFORT = QuestionEffort(10_000, 30, 100, 1.0)


def sharpen(asking: QuestionQueue) -> None:
    """Ask how small the largest share can be, until the greatest proved floor is the greatest that is left.

    A floor of zero or of everybody is decided before; here are the shares between. The most disclosed cell is asked
    first whether it can fall to what is proved of it, then to the middle of what is left, and so on: each question
    hangs on the answer to the one before, so they are put one after the other.
    """
    tried: set[tuple[int, int, int]] = set()
    for _ in range(MOST_QUESTIONS):
        question = None if asking.pool.is_empty or asking.is_over() else _next(asking, tried)
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


# What independent random worlds tell: how far each cell moves, how probable each class is, how much the splits say.

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
    sampler = Sampler(run.facts, run.clock, tiers.seed, effort)
    drawn, gave_up = _drawn(run, sampler, tiers.most_draws)
    if gave_up and sum(map(len, drawn)) < FEWEST_DRAWS:
        drawn = []
    run.drawn = drawn
    if drawn:
        run.split_bits = sampler.bits()
    elif gave_up:
        run.posterior = run.split_bits = Undetermined(f"the sampler gave up: {gave_up}")
    if truth is not None and not all(place.is_fixed for place in run.facts.places.values()):
        # A world with the true leaf counts is a world for whoever knows less of them.
        facts = with_class_counts(run.facts, truth)
        _drawn(run, Sampler(facts, run.clock, tiers.seed + 1, effort), tiers.draws)


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
        run.pool.add(tables)
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


# What follows where all tables below a node, or of the whole tree, can be listed: sharp ends, exact probabilities.


def list_worlds(run: ReasoningState, limits: EnumerationLimits) -> bool:
    """List the worlds below each node where they are few; return whether they are all of them.

    Raises:
        ContradictionError: no table obeys what is said below some node.
        OutOfTimeError: the budget is used up; what was proved stands.
    """
    facts = run.facts
    tables_by_node = enumerated(facts, run.clock, limits)
    for node, tables in tables_by_node.items():
        reasons = ListedReasons(facts, node, tables_by_node, limits, run.clock)
        if not len(tables):
            raise ContradictionError(*reasons.of_none())
        _note(run, node, tables, reasons)
    if 0 not in tables_by_node:
        return False
    run.pool.add(tables_by_node[0])
    run.posterior, total = counted_posterior(facts, tables_by_node[0], run.clock)
    run.counted = _counted(run, len(tables_by_node[0]), total, limits)
    without = run.counted.data_sets_without_splits
    run.split_bits = Undetermined("the data sets without split rows are too many to count")
    if without is not None:
        run.split_bits = exactly(max(_log2(without) - _log2(total), 0.0))
    return True


def _note(run: ReasoningState, node: int, tables: IntArray, reasons: ListedReasons) -> None:
    """Note the least and greatest count of each cell over all tables of a node, and which split proves it."""
    bounds, start = run.bounds, run.facts.span(node).start
    least, most = tables.min(axis=0), tables.max(axis=0)
    here = slice(start, start + len(least))
    for s, klass in np.argwhere(least > bounds.low[here]).tolist():
        value = int(least[s, klass])
        bounds.raise_low(start + s, klass, value, reasons.of(start + s, klass, value, 1))
    for s, klass in np.argwhere(most < bounds.high[here]).tolist():
        value = int(most[s, klass])
        bounds.cut_high(start + s, klass, value, reasons.of(start + s, klass, -value, -1))


def _log2(number: int) -> float:
    """Return the logarithm of a whole number of any size."""
    shift = max(number.bit_length() - 60, 0)
    return float(np.log2(float(number >> shift))) + shift


def _counted(
    run: ReasoningState, worlds: int, total: int, limits: EnumerationLimits
) -> TableNumbers:
    """Count the worlds without split rows: leaf by leaf, or one by one where rows reach across leaves."""
    facts = run.facts
    if facts.lines:
        free = enumerated(facts, run.clock, limits, splits=False).get(0)
        if free is None:
            return TableNumbers(worlds, total)
        return TableNumbers(worlds, total, len(free), sum(data_sets(facts, 0, free, run.clock)))
    number, sets = 1, 1
    for place in facts.places.values():
        tables = place_tables(facts, place, limits.kept)
        if tables is None:
            return TableNumbers(worlds, total)
        number, sets = (
            number * len(tables),
            sets * sum(data_sets(facts, place.start, tables, run.clock)),
        )
    return TableNumbers(worlds, total, number, sets)


log = logging.getLogger(__name__)
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
    should_stop: ShouldStop = never,
    jobs: int | None = 1,
) -> ConsistentTables | Undetermined:
    """Return what a tree's rows prove in whole records: every cell certain, possible otherwise, or not decided.

    All of it ends with the budget, or with ``until`` where that is given: what is cut off then is not decided.
    ``strict_ties`` is for a learner known to take the first of equally good splits. Undetermined where records
    carry weights. Without ``asks_rest`` few questions are put beyond who is certain: where nothing reads the answers.
    Once ``should_stop`` says so no more single questions are put at all. Where there are many, ``jobs`` processes are
    asked side by side (None: as many as there is room for); it makes no difference to the answer while the budget
    lasts.
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
        run = ReasoningState(
            facts or bare, closed_form(bare), WitnessPool(bare), until.share(1 - WITNESS_SHARE)
        )
        if truth is not None:
            # A row that the true table breaks is no fact, so it is a world whatever time there was to look at rows.
            run.pool.add(truth[None])
        if facts is None:
            run.said.append(f"{OUT_OF_TIME} before anything could be tried")
        else:
            _work_out(run, tiers, truth, should_stop, Helpers(jobs), asks_rest=asks_rest)
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
    run: ReasoningState,
    tiers: Tiers,
    truth: IntArray | None,
    should_stop: ShouldStop,
    helpers: Helpers,
    *,
    asks_rest: bool,
) -> None:
    """Run the tiers in order, until time is over or enough is known.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    watch = Watch(run, should_stop)
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


def _in_bulk(run: ReasoningState, tiers: Tiers, truth: IntArray | None, watch: Watch) -> bool:
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


def _look_around(run: ReasoningState, wanted: BoolArray) -> None:
    """Look for worlds one or two swaps away in which the wanted cells differ."""
    swap_stuck(run.facts, run.pool, wanted, run.clock)
    mend_stuck(run.facts, run.pool, wanted, run.clock)
