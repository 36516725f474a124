"""What the first trees of a model would prove without the rest: for the picture over the number of trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from audit.joint.cells import Cells, Release, cells_of, certain_by_leaf, first_trees, rows_of
from audit.joint.found import Prefix
from audit.joint.reason import reason
from audit.joint.rows import JointRows
from audit.people.population import Population
from audit.reading import Undetermined
from audit.worlds.clock import Clock
from ppdm_models.arrays import FloatArray, IndexArray
from ppdm_models.tree.growth import Growth

STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Of so many trees, as far as there are."""


PART_SECONDS = 4.0


def prefixes(
    release: Release, population: Population, growth: Growth | None, classes: int, until: Clock
) -> Iterator[Prefix]:
    """Yield what the first trees tell, from few to all but the last step, while there is time."""
    total = len(release.stops)
    per_round = len(growth.rounds[0]) if growth is not None else 1
    for step in STEPS:
        trees = step * per_round
        if trees >= total or until.is_over:
            return
        stops = release.stops[:trees]
        cells = cells_of(stops, population.counts)
        rows = rows_of([Release(stops, first_trees(release.sums, trees))], cells, classes)
        if isinstance(rows, Undetermined):
            return
        yield replace(
            _told(rows, cells, population, until),
            trees=trees,
            predicted=predicted(growth, population, stops),
        )


def _told(rows: JointRows, cells: Cells, population: Population, until: Clock) -> Prefix:
    truth = population.truth
    known = None if isinstance(truth, Undetermined) else cells.summed(truth)
    joint = reason(rows, truth=known, until=until.part(PART_SECONDS), searching=0.0)
    sure = (joint.low == cells.sizes[:, None]).any(axis=1)
    guessed = None
    if known is not None and not isinstance(joint.guess, Undetermined):
        guessed = float(known[np.arange(len(known)), joint.guess.shares.argmax(axis=1)].sum())
    by_leaf = float(population.counts[certain_by_leaf(rows, cells)].sum())
    return Prefix(0, by_leaf, float(cells.sizes[sure].sum()), guessed, None)


def predicted(growth: Growth | None, population: Population, stops: IndexArray) -> float | None:
    """Return how many people the trees that ``stops`` (T, P) are of predict right; None where that is not known."""
    truth = population.truth
    if growth is None or growth.start is None or isinstance(truth, Undetermined):
        return None
    scores: FloatArray = np.tile(np.array(growth.start), (stops.shape[1], 1))
    for tree, stopped in zip(growth.trees, stops, strict=False):
        scores[:, tree.output] += tree.values[stopped]
    said = scores.argmax(axis=1) if growth.outputs > 1 else (scores[:, 0] > 0).astype(np.intp)
    return float(truth[np.arange(len(said)), said].sum())
