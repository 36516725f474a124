"""The tiers in order: cheap proofs and cheap witnesses first, then the solver, within one budget, failing safe.

Proofs that need no search come first, and all tables are listed where they are few. What is left to find out where they
are many is in ``table_search``. What was not asked is not decided: never possible, never certain.

Where something may hold that is not known to hold, proofs do without it and witnesses obey it: a cell is certain only
by what is known, and is shown to be open only by a table that obeys whatever may hold too
(``treewarden.audit.facts.rows.LeftOut``), so that the table is possible either way. Anything else is not decided.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.consistent_tables.facts.facts import Facts, with_splits, without_splits
from treewarden.audit.consistent_tables.proofs.bounds import closed_form, spread
from treewarden.audit.consistent_tables.result import (
    ALL_TIERS,
    DECIDED,
    IN_DOUBT,
    MOST_WITNESSES,
    OUT_OF_TIME,
    UNSURE_TIES,
    Consistency,
    ConsistentTables,
    ReasoningState,
    TableEnumeration,
    Tiers,
    Watch,
    inconsistent,
    outcome,
    with_what_is_open,
)
from treewarden.audit.consistent_tables.witnesses.enumerate import (
    EnumerationLimits,
    ListedReasons,
    TableNumbers,
    counted_posterior,
    data_sets,
    enumerated,
    place_tables,
)
from treewarden.audit.consistent_tables.witnesses.one_swap_search import swap_worst
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    WitnessPool,
    facts_of_witnesses,
    without_false_places,
    without_false_splits,
)
from treewarden.audit.engine.time_budget import (
    PROOFS_SHARE,
    WITNESS_SHARE,
    ShouldStop,
    Tier,
    TierRun,
    never,
    run_tiers,
)
from treewarden.audit.facts.grower import grower
from treewarden.audit.facts.rows import Linear, Origin
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.progress import Clock, OutOfTimeError, Share, clock, nobody_hears
from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.system.system import System, doubled
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, distinct
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tool import Tool

PARTS = 4
"""Of the work: facts of leaves, those of splits, proofs and tables, exchanges in the tables that are shown."""


def reason(
    system: System,
    *,
    budget_seconds: float = 20.0,
    until: Clock | None = None,
    strict_ties: bool = False,
    tiers: Tiers = ALL_TIERS,
    asks_rest: bool = True,
    should_stop: ShouldStop[ConsistentTables] = never,
    jobs: int | None = 1,
    share: Share = nobody_hears,
) -> ConsistentTables | Undetermined:
    """Return what a tree's rows prove in whole records: every cell certain, possible otherwise, or not decided.

    All of it ends with the budget, or with ``until`` where that is given: what is cut off then is not decided.
    ``strict_ties`` is for a learner known to take the first of equally good splits. Undetermined where records
    carry weights. Without ``asks_rest`` few questions are put beyond who is certain: where nothing reads the answers.
    Once ``should_stop`` says so no more single questions are put at all. Where there are many, ``jobs`` processes are
    asked side by side (None: as many as there is room for); it makes no difference to the answer while the budget
    lasts. ``share`` is told which of the parts of the work are done.
    """
    until = clock(budget_seconds) if until is None else until
    began = until.now()
    bare = without_splits(system, strict_ties)
    if isinstance(bare, Undetermined):
        return bare
    truth = _truth(bare)
    bare = bare if truth is None else without_false_places(bare, truth)
    share(1, PARTS, "parts")
    prepared = _prepared(bare, system, truth, until)
    facts, shown = (bare, bare) if prepared is None else prepared
    share(2, PARTS, "parts")
    try:
        run = ReasoningState(
            facts,
            closed_form(bare),
            WitnessPool(shown),
            until.share(1 - WITNESS_SHARE),
        )
        if truth is not None:
            # A row that the true table breaks is no fact, so it is a world whatever time there was to look at rows.
            run.pool.add_truth(truth)
        if prepared is None:
            run.said.append(f"{OUT_OF_TIME} before the search could start")
        else:
            _work_out(run, tiers, truth, should_stop, asks_rest=asks_rest, jobs=jobs)
    except ContradictionError as contradiction:
        return inconsistent(bare, contradiction.says, until.now() - began)
    share(3, PARTS, "parts")
    if not run.pool.is_empty and prepared is not None:
        swap_worst(run.pool.facts, run.pool, run.worst(MOST_WITNESSES), until)
    return replace(outcome(run, truth, until), seconds=until.now() - began)


def _prepared(
    bare: Facts, system: System, truth: IntArray | None, until: Clock
) -> tuple[Facts, Facts] | None:
    """Return the facts with what the choice of splits says, for proofs and for tables that show what is possible.

    None where time is over: half of it shows nothing.
    """
    try:
        facts = with_splits(bare, system, until)
        if not facts.splits:
            until.check()
            return facts, _with_sets(facts)
        from treewarden.audit.consistent_tables.facts.intervals import with_intervals  # of splits

        facts = with_intervals(facts, until)
        if truth is not None:
            facts = with_intervals(without_false_splits(facts, truth, until), until)
        shown = _with_sets(facts_of_witnesses(facts, truth, until))
        until.check()
    except OutOfTimeError:
        return None
    return facts, shown


def _with_sets(facts: Facts) -> Facts:
    """Return the facts of tables that show what is possible with the sets of categories that are compared by order."""
    case, by = facts.case, grower(facts.case)
    if not by.orders_sets or case.knowledge.split is SplitLevel.NONE:
        return facts
    columns = (case.population.columns[name] for name in case.population.qi)
    if not any(isinstance(column, CategoricalColumn) for column in columns):
        return facts
    if by.tool is Tool.UNKNOWN and facts.classes != 2:
        return facts
    from treewarden.audit.consistent_tables.witnesses.ordered_sets import (  # of such sets only
        ordered_sets,
    )

    sets = ordered_sets(facts)
    return replace(facts, sets=sets) if sets else facts


def _truth(facts: Facts) -> IntArray | None:
    truth = facts.case.population.truth
    if isinstance(truth, Undetermined) or (truth != np.rint(truth)).any():
        return None
    return facts.arranged(truth)


def _work_out(
    run: ReasoningState,
    tiers: Tiers,
    truth: IntArray | None,
    should_stop: ShouldStop[ConsistentTables],
    *,
    asks_rest: bool,
    jobs: int | None,
) -> None:
    """Run the tiers in order, until time is over or enough is known.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    watch = Watch(run, should_stop)
    cheap: dict[Tier, TierRun] = {
        Tier.ALONE: partial(_settle_alone, run, tiers),
        Tier.LISTING: partial(_list, run, tiers),
    }
    if not run_tiers(cheap):
        from treewarden.audit.consistent_tables.table_search import estimate, search_tiers  # heavy

        run_tiers(search_tiers(run, tiers, truth, watch, asks_rest=asks_rest, jobs=jobs))
        if tiers.posterior:
            estimate(run)
    if (run.pool.unsure & run.not_moved).any():
        run.said.append(UNSURE_TIES)
    if run.clock.is_over:
        run.said.append(OUT_OF_TIME)
    elif watch.is_over:
        run.said.append(DECIDED)


def _settle_alone(run: ReasoningState, tiers: Tiers) -> None:
    """Prove what leaves, and single rows of splits, prove of many cells at a time."""
    spread(run.facts, run.bounds)
    if tiers.propagate and run.facts.splits:
        from treewarden.audit.consistent_tables.proofs.propagate import propagate  # rows of splits

        propagate(run.facts, run.bounds, run.clock, alone=True)


def _list(run: ReasoningState, tiers: Tiers) -> bool:
    return tiers.enumerate is not None and list_worlds(run, tiers.enumerate)


# Where all tables below a node, or of the whole tree, can be listed: sharp bounds and exact probabilities.


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
    run.pool.add_those_that_show(facts, tables_by_node[0], run.clock)
    run.posterior, total = counted_posterior(facts, tables_by_node[0], run.clock)
    run.counted = _counted(run, len(tables_by_node[0]), total, limits)
    without = run.counted.data_sets_without_splits
    run.split_bits = Undetermined("too many tables are consistent with the leaves to count them")
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
        bounds.raise_low(start + s, klass, value, reasons.reasons_for(start + s, klass, value, 1))
    for s, klass in np.argwhere(most < bounds.high[here]).tolist():
        value = int(most[s, klass])
        bounds.cut_high(start + s, klass, value, reasons.reasons_for(start + s, klass, -value, -1))


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


TABLES_ONLY = Tiers(propagate=False, solver=False, posterior=False)
WITHOUT_LINES = Tiers(lines=False)
"""What these prove of rows that are known, they have proved by then."""
NOT_COUNTED = Undetermined(f"{IN_DOUBT}: tables cannot be counted")


def reason_in_doubt(
    system: System,
    *,
    budget_seconds: float = 20.0,
    until: Clock | None = None,
    strict_ties: bool = False,
    asks_rest: bool = True,
    should_stop: ShouldStop[ConsistentTables] = never,
    jobs: int | None = 1,
    share: Share = nobody_hears,
) -> ConsistentTables | Undetermined:
    """Return what a tree's rows prove, and what is possible whatever holds of that which was left out.

    The settings are those of ``reason``.
    """
    system = replace(system, rows=(*system.rows, *system.whole))
    ask = partial(reason, strict_ties=strict_ties, asks_rest=asks_rest, jobs=jobs)
    until = clock(budget_seconds) if until is None else until
    if not system.left_out:
        return ask(system, until=until, should_stop=should_stop, share=share)

    def with_proofs_only(proved: ConsistentTables) -> bool:
        return should_stop(_joined(system, proved, None))

    def first(done: float, total: float, what: str) -> None:
        share(done, 2 * total, what)

    def second(done: float, total: float, what: str) -> None:
        share(total + done, 2 * total, what)

    proved = ask(system, until=until.share(PROOFS_SHARE), should_stop=with_proofs_only, share=first)
    if isinstance(proved, Undetermined) or proved.consistency is Consistency.INCONSISTENT:
        return proved
    found = None
    try:
        narrow = _narrowed(system, until)
    except OutOfTimeError:
        narrow, proved = (
            None,
            replace(proved, left=tuple(dict.fromkeys((*proved.left, OUT_OF_TIME)))),
        )
    if narrow is not None:

        def with_tables(consistent_tables: ConsistentTables) -> bool:
            return should_stop(_joined(system, proved, consistent_tables))

        # No row says what sums of weights allow; whole tables can still be held against them.
        is_weighed = any(family.weights is not None for family in narrow.families)
        tiers = TABLES_ONLY if is_weighed else WITHOUT_LINES
        found = ask(narrow, until=until, tiers=tiers, should_stop=with_tables, share=second)
    return _joined(system, proved, found if isinstance(found, ConsistentTables) else None)


def _narrowed(system: System, until: Clock) -> System | None:
    """Return the system as if all that was left out held, with people below open nodes as they are; None: all are.

    Raises:
        OutOfTimeError: time is over; a part of it would show tables that are not possible.
    """
    narrow, open_nodes = doubled(system, until)
    if not open_nodes:
        return narrow
    truth = system.case.population.truth
    inside = distinct(
        np.concatenate([system.case.members.profiles_at(node) for node in open_nodes])
    )
    if isinstance(truth, Undetermined) or len(inside) == len(truth):
        return None
    return replace(narrow, rows=(*narrow.rows, *_pinned(truth, inside.astype(np.intp), until)))


def _pinned(truth: FloatArray, inside: IndexArray, until: Clock) -> list[Linear]:
    """Return rows that leave some profiles as they truly are.

    Raises:
        OutOfTimeError: there are too many of them for the time.
    """
    origin = Origin("left_out", "the true table")
    counts = truth[inside].sum(axis=1)
    alike = inside[truth[inside].max(axis=1) == counts]
    total = float(truth[alike].sum())
    rows = [
        Linear(alike, truth[alike].argmax(axis=1), np.ones(len(alike)), total, total, origin),
    ]
    for profile in np.setdiff1d(inside, alike):
        until.check()
        for klass, value in enumerate(truth[profile].tolist()):
            one = np.array([profile]), np.array([klass]), np.ones(1)
            rows.append(Linear(*one, value, value, origin))
    return [row for row in rows if len(row.profiles)]


def _joined(
    system: System, proved: ConsistentTables, consistent_tables: ConsistentTables | None
) -> ConsistentTables:
    """Return what was proved, with the tables that are possible in any case."""
    truth = system.case.population.truth
    if consistent_tables is not None and consistent_tables.consistency is Consistency.CONSISTENT:
        reached = consistent_tables.reached_low, consistent_tables.reached_high
    elif not isinstance(truth, Undetermined):
        reached = np.rint(truth).astype(np.int64), np.rint(truth).astype(np.int64)
    else:
        most = np.broadcast_to(proved.counts[:, None], proved.low.shape).astype(np.int64)
        reached = most, np.zeros_like(most)
    joined = replace(
        proved,
        reached_low=reached[0],
        reached_high=reached[1],
        witnesses=() if consistent_tables is None else consistent_tables.witnesses,
        enumeration=TableEnumeration(NOT_COUNTED, NOT_COUNTED),
        left=(
            IN_DOUBT,
            *dict.fromkeys(
                [*proved.left, *(() if consistent_tables is None else consistent_tables.left)]
            ),
        ),
        seconds=proved.seconds + (0.0 if consistent_tables is None else consistent_tables.seconds),
    )
    return with_what_is_open(joined)
