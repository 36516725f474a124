"""What the first trees of a model would prove without the rest: for the picture over the number of trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.engine.bounds import Bounds
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import Problem
from treewarden.audit.engine.time_budget import PREFIX_SECONDS, TimeBudget
from treewarden.audit.joint.cells import (
    PeopleCells,
    ReleaseCells,
    cells_of,
    class_by_leaf,
    first_trees,
    rows_of,
)
from treewarden.audit.joint.draws import Units
from treewarden.audit.joint.result import Prefix
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.growth import EnsembleGrowth

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Of so many trees, as far as there are."""


def prefixes(
    release: ReleaseCells,
    units: Units,
    population: Population,
    growth: EnsembleGrowth | None,
    classes: int,
    until: Clock,
) -> Iterator[Prefix]:
    """Yield what the first trees tell, from few to all but the last step, while there is time.

    ``release`` holds the trees that are joined: of more than these nothing is told.
    """
    total = len(release.stops)
    per_round = len(growth.rounds[0]) if growth is not None else 1
    for step in STEPS:
        trees = step * per_round
        if trees >= total or until.is_over:
            return
        stops = release.stops[:trees]
        draws = None if release.draws is None else release.draws[:trees]
        cells = cells_of(stops, units.people, draws, units.parts)
        told = first_trees(release.sums, trees)
        first = ReleaseCells(stops, told, draws=draws, weights=release.weights)
        rows = rows_of([first], cells, classes, units.background)
        if isinstance(rows, Undetermined):
            return
        prefix = _prefix_of_trees(rows, cells, units, population, until)
        yield replace(
            prefix,
            guessed=prefix.guessed if release.sums.is_complete else None,
            trees=trees,
            predicted=predicted(growth, units, stops),
        )


def _prefix_of_trees(
    rows: Problem, cells: PeopleCells, units: Units, population: Population, until: Clock
) -> Prefix:
    known = None if units.truth is None else cells.summed(units.truth)
    bounds = reason(rows, truth=known, budget=TimeBudget(until.part(PREFIX_SECONDS), 0.0))
    by_leaf = units.agreed(class_by_leaf(rows, cells)) >= 0
    return count_certain(bounds, cells, units, population, by_leaf)


def count_certain(
    bounds: Bounds, cells: PeopleCells, units: Units, population: Population, by_leaf: BoolArray
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
