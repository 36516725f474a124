"""What all trees of a model prove of its people together: from leaf sums to worlds and an estimate by profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from audit.inverters import GrownCase, LeafSums, inverters, knowing, leaf_sums
from audit.joint.cells import (
    Cells,
    Release,
    breaking,
    cells_of,
    certain_by_leaf,
    first_trees,
    rows_of,
)
from audit.joint.counted import counted_sums
from audit.joint.found import Prefix, Together
from audit.joint.prefixes import predicted, prefixes
from audit.joint.reason import never, reason
from audit.joint.result import Joint
from audit.joint.rows import JointRows
from audit.people.forest import Forest
from audit.people.population import Population
from audit.reading import Undetermined
from audit.stages import Step, silent
from audit.worlds.clock import Clock, clock
from ppdm_models.arrays import BoolArray, IndexArray, IntArray
from ppdm_models.tree.ensemble import Ensemble
from ppdm_models.tree.growth import Growth
from ppdm_models.tree.tree import Task

OVER_TREES_SECONDS = 20.0
"""What the first trees tell is a picture for readers, and worked out as far as that suffices."""
MOST_ENTRIES = 12_000_000
"""So many places of people in leaves are joined, about 50 bytes each with what is worked out of them."""
OTHER_LABELS = (
    "the sums that its leaf values give are not those of the table's labels: the table, or what its labels mean, is "
    "another"
)
OTHER_WAY_ROUND = (
    "the sums of its leaf values are those of the other class: the labels stand the other way round"
)


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What was found, with the cells, the rows over them and what these prove.

    ``is_part`` says that other trees are not joined: they may tell the people of a cell apart.
    """

    found: Together
    cells: Cells
    rows: JointRows
    joint: Joint
    is_part: bool = False


def recovered_leaves(sums: LeafSums) -> tuple[int, int]:
    """Return of how many leaves the people of each counted class are known exactly, and how many leaves there are."""
    keys = np.stack((sums.trees, sums.nodes), axis=1)
    leaves, of = np.unique(keys, axis=0, return_inverse=True)
    open_ = np.bincount(of.reshape(-1), sums.low < sums.high, len(leaves))
    return int((open_ == 0).sum()), len(leaves)


def problem_with(rows: JointRows, truth: IntArray) -> str:
    """Return why the rows cannot be of these people, whose true values (C, m) are known; "" where they can."""
    if not len(breaking(rows, truth)):
        return "" if rows.scaled is None or rows.scaled.fits_all(truth) else OTHER_LABELS
    if rows.classes == 2 and not len(breaking(rows, truth[:, ::-1])):
        return OTHER_WAY_ROUND
    return OTHER_LABELS


def joined_of(
    forest: Forest,
    population: Population,
    until: Clock,
    searching: float,
    step: Step = silent,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    over_trees: bool = False,
    enough: Callable[[BoolArray], bool] | None = None,
) -> Joined | Undetermined:
    """Return what all trees of a model prove of its people together, or why that is not known.

    The estimate is looked for ``until`` then, other tables for ``searching`` seconds more. ``training`` are settings
    that the file may withhold and the adversary knows. Where neither tells them, those that the library takes by itself
    are tried, and believed where the true values are known and fit. With ``over_trees`` what the first trees tell is
    worked out too. No other tables are looked for once ``enough`` profiles are certain (P,). ``step`` is told of each
    stage; what it raises ends it.
    """
    problem = _unfit(forest, population)
    if problem:
        return Undetermined(problem)
    model = forest.model
    with step("turning leaf values back into sums of labels"):
        growth = model.growth if isinstance(model, Ensemble) else None
        used = _used(forest)
        cells, truth = cells_of(forest.stops[:used], population.counts), None
        if not isinstance(population.truth, Undetermined):
            truth = cells.summed(population.truth)
        found = _found(forest, population, growth, training, cells, truth)
        if isinstance(found, Undetermined):
            return found
        sums, rows = found
    with step("reasoning over the leaves of all trees"):
        partly = used < len(forest.trees)
        joint = reason(
            rows,
            truth=truth,
            until=until,
            searching=0.0 if partly else searching,
            is_certain_enough=never if enough is None else lambda sure: enough(sure[cells.of]),
        )
        if partly:
            joint = _of_part(joint, f"{used:,} of {len(forest.trees):,}")
    if joint.problem:
        return Undetermined(f"no table fits all leaves: {joint.problem}")
    recovered, leaves = recovered_leaves(sums)
    by_leaf = certain_by_leaf(rows, cells)
    proved = Together(
        len(forest.trees), leaves, recovered, by_leaf, sums.facts, sums.said, joint.left
    )
    joined = Joined(proved, cells, rows, joint, partly)
    if not over_trees:
        return joined
    with step("measuring what the first trees tell"):
        early = prefixes(
            Release(forest.stops, sums), population, growth, rows.classes, clock(OVER_TREES_SECONDS)
        )
        last = _all_trees(joined, population, growth, forest)
        return replace(joined, found=replace(proved, over_trees=(*early, last)))


def _found(
    forest: Forest,
    population: Population,
    growth: Growth | None,
    training: Mapping[str, float],
    cells: Cells,
    truth: IntArray | None,
) -> tuple[LeafSums, JointRows] | Undetermined:
    """Return what the leaves say, read off their counts or turned back from their values; as sums and as rows."""
    if growth is None:
        return _fitting(counted_sums(forest, population), forest.stops, cells, truth, forest)
    classes = len(forest.model.classes)
    grown = knowing(growth, training)
    case = GrownCase(grown, forest.trees, forest.stops, population.counts, classes)
    found = _fitting(leaf_sums(case), forest.stops, cells, truth, forest)
    if isinstance(found, Undetermined) and truth is not None:
        return _by_default(case, cells, truth, forest) or found
    return found


def _fitting(
    sums: LeafSums | Undetermined,
    stops: IndexArray,
    cells: Cells,
    truth: IntArray | None,
    forest: Forest,
) -> tuple[LeafSums, JointRows] | Undetermined:
    """Return sums with their rows; why not, where the true values do not fit them."""
    if isinstance(sums, Undetermined):
        return sums
    used = _used(forest)
    part = Release(stops[:used], first_trees(sums, used))
    rows = rows_of([part], cells, len(forest.model.classes))
    if isinstance(rows, Undetermined):
        return rows
    problem = "" if truth is None else problem_with(rows, truth)
    return Undetermined(problem) if problem else (sums, rows)


def _by_default(
    case: GrownCase, cells: Cells, truth: IntArray, forest: Forest
) -> tuple[LeafSums, JointRows] | None:
    """Return what the leaves say if the library was left to itself where the file is silent; None if that cannot be."""
    growth = case.growth
    defaults = inverters()[growth.library].defaults
    silent_on = {name: value for name, value in defaults.items() if growth.fact(name).value is None}
    if not silent_on:
        return None
    sums = leaf_sums(replace(case, growth=knowing(growth, silent_on)))
    found = _fitting(sums, case.stops, cells, truth, forest)
    if isinstance(found, Undetermined):
        return None
    taken = ", ".join(f"{name} {value:g}" for name, value in silent_on.items())
    said = f"the file withholds how it was trained; what its library does by itself fits, and is taken: {taken}"
    sums, rows = found
    return replace(sums, said=(*sums.said, said)), rows


def _used(forest: Forest) -> int:
    """Return how many trees' leaves are joined: the first ones, as far as memory goes."""
    classes, profiles = len(forest.model.classes), int(forest.stops.shape[1])
    growth = forest.model.growth if isinstance(forest.model, Ensemble) else None
    each = classes if growth is None and classes > 2 else 1
    most = max(1, MOST_ENTRIES // max(each * profiles, 1))
    return min(len(forest.trees), most)


def _of_part(joint: Joint, used: str) -> Joint:
    """Return what the leaves of some trees prove, which holds; what they leave open may be settled by the others."""
    said = f"the leaves of {used} trees were joined, as all would take too much memory"
    return replace(joint, guess=Undetermined(f"no estimate: {said}"), left=(said,))


def _all_trees(
    joined: Joined, population: Population, growth: Growth | None, forest: Forest
) -> Prefix:
    """Return what all trees tell, as the last of what the first ones do."""
    joint, cells, truth = joined.joint, joined.cells, population.truth
    sure = (joint.low == cells.sizes[:, None]).any(axis=1)
    guessed = None
    if not isinstance(truth, Undetermined) and not isinstance(joint.guess, Undetermined):
        best = joint.guess.shares.argmax(axis=1)[cells.of]
        guessed = float(truth[np.arange(len(best)), best].sum())
    return Prefix(
        joined.found.trees,
        float(population.counts[joined.found.by_leaf].sum()),
        float(cells.sizes[sure].sum()),
        guessed,
        predicted(growth, population, forest.stops),
    )


def _unfit(forest: Forest, population: Population) -> str:
    """Return why the leaves of all trees say nothing of these people that could be joined; "" where they may."""
    if forest.model.task is Task.REGRESSION:
        return "the model predicts a number, not a class; only its leaves are measured"
    if not forest.model.classes:
        return "the file names no class; only its leaves are measured"
    if population.weight is not None:
        return "its trees count sums of sampling weights, which are not turned back into people"
    if (forest.stops[:, population.counts > 0] < 0).any():
        return "some records fall in no leaf of a tree, or in several"
    return ""
