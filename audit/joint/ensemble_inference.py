"""Ensemble inference: what the leaves of all trees of a model prove of its people together.

The report's figure by number of trees reads what the first trees alone prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import Problem, ProblemBounds
from treewarden.audit.engine.time_budget import (
    OVER_TREES_SECONDS,
    PREFIX_SECONDS,
    ShouldStop,
    TimeBudget,
    never,
)
from treewarden.audit.inverters import LeafSums, doubting
from treewarden.audit.joint.cells import (
    PeopleCells,
    class_by_leaf,
)
from treewarden.audit.joint.draws import LabelTies, Units
from treewarden.audit.joint.known_facts import KnownRows
from treewarden.audit.joint.leaf_facts import (
    EnsembleLeafFacts,
    joined_trees,
    mark_unfinished,
    narrow_cut_values,
    read_leaf_facts,
    refine_cut_values,
    rows_of_first,
)
from treewarden.audit.joint.result import EnsembleInference, Prefix, only_certain
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Clock, Step, silent, work_clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, claims_privacy, growth_of
from treewarden.ppdm_models.tree.tree import Task

MOST_PASSES = 3
"""How often cut leaf values are read again with what all proofs together prove of each leaf."""
NOT_ALL_OF_SAMPLES = (
    "each tree used an unknown sample of the records, so only bounds were computed. Their "
    "proofs hold, but an adversary who knows the sample may infer more; train every tree on all records (in "
    "scikit-learn bootstrap=False), or publish one tree"
)
NOISY = (
    "the file claims differential privacy, so its labels and numbers may be random and "
    "prove nothing"
)


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTrees:
    """What was inferred from several trees: of whom, their cells, the problem over these and what its rows prove.

    ``reads_labels`` says that the labels of leaves without counts are among the rows, in one way of breaking ties.
    """

    inference: EnsembleInference
    units: Units
    cells: PeopleCells
    problem: Problem
    bounds: ProblemBounds
    reads_labels: bool = False


def recovered_leaves(sums: LeafSums) -> tuple[int, int]:
    """Return of how many leaves the people of each counted class are known exactly, and how many leaves there are."""
    keys = np.stack((sums.trees, sums.nodes), axis=1)
    leaves, of = np.unique(keys, axis=0, return_inverse=True)
    open_ = np.bincount(of.reshape(-1), sums.low < sums.high, len(leaves))
    return int((open_ == 0).sum()), len(leaves)


def sums_of(
    forest: Forest, population: Population, training: Mapping[str, float] = MappingProxyType({})
) -> LeafSums | Undetermined:
    """Return what the leaves of all trees of a model say of its people, or why that is not known.

    Draws of a sample are not repeated: of these only bounds are told.
    """
    problem = _unfit(forest, population)
    if problem:
        return Undetermined(problem)
    growth = growth_of(forest.model)
    found = read_leaf_facts(forest, population, growth, training, None)
    if isinstance(found, Undetermined):
        return doubting(found, growth, training)
    return refine_cut_values(found, forest, work_clock(OVER_TREES_SECONDS)).sums


def join_trees(
    forest: Forest,
    population: Population,
    budget: TimeBudget,
    step: Step = silent,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    seeds: Sequence[int] | None = (),
    background: KnownRows | None = None,
    ties: LabelTies = LabelTies.OPEN,
    over_trees: bool = False,
    should_stop: ShouldStop[ConsistentTables] = never,
) -> JoinedTrees | Undetermined:
    """Return what all trees of a model prove of its people together, or why that is not known.

    ``training`` are settings that the file may withhold and the adversary knows. Where neither tells them, those that
    the library takes by itself are tried, and believed where the true values are known and fit. ``seeds`` are what
    draws of records may have started from, tried beside those that the file says; None stands for an adversary who does
    not know in which order the records stood, and so cannot repeat any draws. ``background`` are facts about the people
    from elsewhere, and ``ties`` is how labels of leaves without counts are read. With ``over_trees`` what the first
    trees tell is worked out too. No other tables are looked for once ``should_stop`` says so of who is certain.
    ``step`` is told of each stage; what it raises ends it.
    """
    problem = _unfit(forest, population)
    if problem:
        return Undetermined(problem)
    model = forest.model
    with step("recovering class counts from leaf values") as share:
        growth = growth_of(model)
        published = read_leaf_facts(
            forest, population, growth, training, seeds, background, ties=ties
        )
        if isinstance(published, Undetermined):
            return doubting(published, growth, training)
        units, cells = published.units, published.cells
        refined = refine_cut_values(published, forest, budget.until.told_to(share))
    with step("reasoning over the leaves of all trees") as share:
        told = budget.told_to(share)
        facts, bounds = _prove_trees(
            refined, forest, told, _in_cells(should_stop, published, forest, population)
        )
    sums = facts.sums
    if bounds.problem:
        beside = "" if background is None else " and all that is known beside them"
        no_table = Undetermined(f"no table is consistent with all leaves{beside}: {bounds.problem}")
        return doubting(no_table, growth, training)
    recovered, leaves = recovered_leaves(sums)
    inference = EnsembleInference(
        trees=len(forest.trees),
        leaves=leaves,
        recovered=recovered,
        by_leaf=units.agreed(class_by_leaf(published.rows, cells)) >= 0,
        facts=sums.facts,
        said=sums.said,
        left=bounds.left,
        is_complete=sums.is_complete,
        is_replayed=units.draws is not None,
    )
    joined = JoinedTrees(inference, units, cells, facts.rows, bounds, sums.reads_labels)
    if not over_trees:
        return joined
    with step("measuring what the first trees tell") as share:
        outer = budget.until.outer
        until = work_clock(OVER_TREES_SECONDS, None if outer is None else outer.left)
        until = until.told_to(share)
        disclosed = _disclosed_by_first_trees(joined, forest, population, published.sums, until)
        return replace(joined, inference=replace(inference, over_trees=disclosed))


def _in_cells(
    should_stop: ShouldStop[ConsistentTables],
    facts: EnsembleLeafFacts,
    forest: Forest,
    population: Population,
) -> ShouldStop[IntArray]:
    """Return whether enough profiles are certain, asked of the class that each cell certainly has, (C,)."""

    def is_enough(class_of_cell: IntArray) -> bool:
        certain = facts.units.agreed(class_of_cell[facts.cells.of]) >= 0
        return should_stop(only_certain(population.counts, certain, len(forest.model.classes)))

    return is_enough


def _prove_trees(
    facts: EnsembleLeafFacts, forest: Forest, budget: TimeBudget, should_stop: ShouldStop[IntArray]
) -> tuple[EnsembleLeafFacts, ProblemBounds]:
    """Return what leaves say of their people after all that is proved of them, and what they prove together.

    Leaf values that were cut are read again with that while they narrow.
    """
    used = joined_trees(forest, facts.units)
    for passes in range(MOST_PASSES + 1):
        missing = _missing(facts.sums, used, len(forest.trees))
        facts = replace(facts, rows=replace(facts.rows, incomplete=missing))
        bounds = reason(facts.rows, truth=facts.truth, budget=budget, should_stop=should_stop)
        narrowed = (
            None if bounds.problem else narrow_cut_values(facts, (bounds.low, bounds.high), forest)
        )
        if narrowed is None:
            break
        is_last = passes + 1 >= MOST_PASSES
        facts = replace(narrowed, sums=mark_unfinished(narrowed.sums)) if is_last else narrowed
    return facts, bounds


def _disclosed_by_first_trees(
    joined: JoinedTrees, forest: Forest, population: Population, sums: LeafSums, until: Clock
) -> tuple[Prefix, ...]:
    """Return what the first trees prove and predict by themselves, and what all of them do; ``sums`` are published."""
    growth = growth_of(forest.model)
    units, used = joined.units, joined_trees(forest, joined.units)
    early = prefixes(sums, units, population, growth, (used, joined.problem.classes), until)
    last = replace(
        count_certain(joined.bounds, joined.cells, units, population, joined.inference.by_leaf),
        trees=len(forest.trees),
        predicted=predicted(growth, units, units.stops),
    )
    return (*early, last)


def _missing(sums: LeafSums, used: int, trees: int) -> str:
    """Return what the file says beyond the rows, "" where they are all that it says."""
    if not sums.is_complete:
        return sums.missing or NOT_ALL_OF_SAMPLES
    if used < trees:
        return (
            f"the leaves of {used:,} of {trees:,} trees were combined; all of them need too much "
            "memory"
        )
    return ""


def _unfit(forest: Forest, population: Population) -> str:
    """Return why the leaves of all trees say nothing of these people that could be joined; "" where they may."""
    if forest.model.task is Task.REGRESSION:
        return "it predicts a number, not a class"
    if not forest.model.classes:
        return "the file names no class, so only its leaves were measured"
    if claims_privacy(forest.model):
        return NOISY
    is_grown = growth_of(forest.model) is not None
    if population.weight is not None and is_grown:
        return "its trees contain sums of sampling weights, which cannot be inverted into counts of people"
    held = population.counts > 0
    if any((stops[held] < 0).any() for stops in forest.stops):
        return "some records reach no leaf of a tree, or several"
    return ""


STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Of so many trees, as far as there are."""


def prefixes(
    sums: LeafSums,
    units: Units,
    population: Population,
    growth: EnsembleGrowth | None,
    sizes: tuple[int, int],
    until: Clock,
) -> Iterator[Prefix]:
    """Yield what the first trees tell, from few to all but the last step, while there is time.

    ``sizes`` is how many trees are joined, of more than which nothing is told, and how many classes there are.
    """
    total, classes = sizes
    per_round = len(growth.rounds[0]) if growth is not None else 1
    for step in STEPS:
        trees = step * per_round
        if trees >= total or until.is_over:
            return
        cells, rows = rows_of_first(sums, units, trees, classes)
        if isinstance(rows, Undetermined):
            return
        known = None if units.truth is None else cells.summed(units.truth)
        bounds = reason(rows, truth=known, budget=TimeBudget(until.part(PREFIX_SECONDS), 0.0))
        by_leaf = units.agreed(class_by_leaf(rows, cells)) >= 0
        prefix = count_certain(bounds, cells, units, population, by_leaf)
        yield replace(
            prefix,
            guessed=prefix.guessed if sums.is_complete else None,
            trees=trees,
            predicted=predicted(growth, units, units.stops[:trees]),
        )


def count_certain(
    bounds: ProblemBounds,
    cells: PeopleCells,
    units: Units,
    population: Population,
    by_leaf: BoolArray,
) -> Prefix:
    """Return how many people are certain, by one leaf (P,) and by all, and how many are guessed right."""
    is_all = bounds.low == cells.sizes[:, None]
    classes = np.where(is_all.any(axis=1), is_all.argmax(axis=1), -1)
    sure = units.agreed(classes[cells.of]) >= 0
    guessed, truth, people = None, population.truth, population.counts
    if not isinstance(truth, Undetermined) and not isinstance(bounds.estimate, Undetermined):
        best = units.mean(bounds.estimate.values[cells.of]).argmax(axis=1)
        guessed = float(truth[np.arange(len(best)), best].sum())
    return Prefix(0, float(people[by_leaf].sum()), float(people[sure].sum()), guessed, None)


def predicted(growth: EnsembleGrowth | None, units: Units, stops: IndexArray) -> float | None:
    """Return how many people the trees that ``stops`` (T, U) are of predict right; None where that is not known."""
    truth = units.truth
    if growth is None or growth.start is None or truth is None:
        return None
    scores: FloatArray = np.tile(np.array(growth.start), (stops.shape[1], 1))
    for tree, stopped in zip(growth.trees, stops, strict=False):
        if tree.values.ndim > 1:
            scores += tree.values[stopped]
        else:
            scores[:, tree.output] += tree.values[stopped]
    said = scores.argmax(axis=1) if growth.outputs > 1 else (scores[:, 0] > 0).astype(np.intp)
    return float(truth[np.arange(len(said)), said].sum())
