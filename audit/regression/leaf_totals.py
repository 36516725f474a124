"""The totals that leaves publish, as cells of a table of magnitudes: the mean of each, times how many people it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.population.forest import Forest, sample_in_words
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import (
    Contributions,
    RankedContributions,
    by_contributor,
    ranked_contributions,
)
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.regression.rows import DOUBLE, numbers_said, rounding
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble
from treewarden.ppdm_models.tree.tree import Task, Tree

NO_NUMBERS = Undetermined("the model predicts a class, so its leaves have no totals")
NOT_KNOWN = Undetermined("the contribution of each record to the leaf totals is not known")
NEGATIVE = Undetermined(
    "some contributions are negative, but concentration rules are defined only for "
    "contributions of 0 or more; use the metrics contributors and value_disclosure instead"
)
IN_NO_LEAF = Undetermined("some records are in no leaf of a tree, or in several")
NOT_MEANS = Undetermined(
    "the leaf values are not the means of the table's values (perhaps medians, or changed after training), so the "
    "leaves publish no totals that these rules could judge"
)
WITH_HOLDINGS = Undetermined(
    "sampling weights stand for units outside the table, so their owners are not known; "
    'use weights = "known", or remove --id'
)


@dataclass(frozen=True, slots=True, eq=False)
class LeafTotals:
    """The L leaves of one tree that hold anybody, by node, and what each record adds to their totals.

    Each of ``readings`` is the same under another way to read the file: of people, or of their sampling weights, where
    its leaf values may be the means of either.
    """

    tree: int
    nodes: IndexArray
    readings: tuple[RankedContributions, ...]


def leaf_totals(
    forest: Forest,
    population: Population,
    numbers: ValueBounds | Undetermined,
    *,
    repeats_weights: bool,
) -> list[LeafTotals] | Undetermined:
    """Return the leaves of every tree with the contributions to their totals; why not, where they have none.

    Under sampling weights a record adds its number times its weight, which whoever knows the weight can undo; where
    ``repeats_weights`` it stands for so many units of that number instead, as sdcTable and tau-ARGUS take it
    (Hundepool et al., Handbook on Statistical Disclosure Control, section 4.2.1, sampling weights). ``numbers`` says
    whether the leaf values of a boosted model can be inverted into totals.
    """
    if forest.model.task is not Task.REGRESSION:
        return numbers if isinstance(numbers, Undetermined) else NO_NUMBERS
    contributions = population.contributions
    if isinstance(population.numbers, Undetermined):
        return population.numbers
    if contributions is None or contributions.amounts is None:
        return NOT_KNOWN
    if not len(contributions.amounts):
        return Undetermined("the table has no records")
    if (
        repeats_weights
        and contributions.weights is not None
        and contributions.contributors is not None
    ):
        return WITH_HOLDINGS
    problem = _no_totals(forest, numbers)
    if problem is not None:
        return problem
    found = []
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        here = stops[contributions.profiles]
        if (here < 0).any():
            return IN_NO_LEAF
        nodes, cell = np.unique(here, return_inverse=True)
        cell = cell.reshape(-1)
        weighings = tuple(
            weighing
            for weighing in _weighings(contributions)
            if not _publishes_means(forest)
            or _are_means(tree, nodes, cell, contributions.amounts, weighing)
        )
        if not weighings:
            return NOT_MEANS
        if (contributions.amounts < 0).any():
            return NEGATIVE
        ranked = _ranked(contributions, cell, len(nodes), repeats_weights)
        found.append(LeafTotals(number, nodes, tuple(map(ranked, weighings))))
    return found


def _no_totals(forest: Forest, numbers: ValueBounds | Undetermined) -> Undetermined | None:
    """Return why the leaves of an ensemble publish no totals of the table's people; None where they may."""
    model = forest.model
    if not isinstance(model, Ensemble):
        return None
    if not _publishes_means(forest):
        return numbers if isinstance(numbers, Undetermined) else None
    if forest.draws or model.sampling.resampled:
        return Undetermined(sample_in_words(model))
    return None


def _publishes_means(forest: Forest) -> bool:
    """Whether a leaf value is a mean by itself: in one tree, and where the trees' values are averaged."""
    model = forest.model
    return not isinstance(model, Ensemble) or model.combination is Combination.AVERAGE


def _weighings(contributions: Contributions) -> Iterator[FloatArray]:
    """Yield what each record counts for, (K,), in each way that the file may have been written."""
    yield contributions.people
    if contributions.weights is not None:
        yield contributions.people * contributions.weights


def _are_means(
    tree: Tree, nodes: IndexArray, cell: IndexArray, amounts: FloatArray, weighing: FloatArray
) -> bool:
    """Whether every leaf that says a number says the mean of its people's, but for rounding."""
    printed = numbers_said(tree)
    totals = np.bincount(cell, weighing * amounts, len(nodes))
    means = totals / np.bincount(cell, weighing, len(nodes))
    room = rounding(printed)[nodes] + 8 * DOUBLE * len(amounts) * float(amounts.max(initial=0.0))
    # Where a number was computed with 32 bits, its last digits are none of the table's.
    room += 2.0**-20 * np.abs(means)
    return bool((np.isnan(printed[nodes]) | (np.abs(means - printed[nodes]) <= room)).all())


def _ranked(
    contributions: Contributions, cell: IndexArray, cells: int, repeats_weights: bool
) -> Callable[[FloatArray], RankedContributions]:
    """Return how contributions are put in order once it is known what each record counts for."""
    amounts, people = contributions.amounts, contributions.people
    assert amounts is not None

    def ranked(weighing: FloatArray) -> RankedContributions:
        if contributions.contributors is not None:
            return by_contributor(cell, amounts * weighing, contributions.contributors, cells)
        if repeats_weights:
            return ranked_contributions(cell, amounts, weighing, cells)
        return ranked_contributions(cell, amounts * (weighing / people), people, cells)

    return ranked
