"""What all trees of a model prove of its people together: from leaf sums to worlds and an estimate by profile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from treewarden.audit.clock import Clock, clock
from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.inverters import GrownCase, LeafSums, doubting, inverters, knowing, leaf_sums
from treewarden.audit.joint.bound_pipeline import never, reason
from treewarden.audit.joint.cells import (
    JointRows,
    PeopleCells,
    ReleaseCells,
    breaking,
    cells_of,
    class_by_leaf,
    first_trees,
    rows_of,
)
from treewarden.audit.joint.counted_leaves import counted_sums
from treewarden.audit.joint.counts import by_class, by_leaves, counts_of, propagate
from treewarden.audit.joint.draws import Units, by_profile, replays
from treewarden.audit.joint.per_tree_disclosure import count_certain, predicted, prefixes
from treewarden.audit.joint.result import EnsembleInference, Joint
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.growth import EnsembleGrowth, FactSource
from treewarden.ppdm_models.tree.tree import Task

# Leaf values that were cut to few digits, read again with what all leaves prove of each.
#
# A value with few digits leaves bounds of the labels in its leaf. Other leaves may narrow these; then the value
# itself is
# known better than its digits say it, so is what the model said of everybody before the next tree, and so are the
# sums of
# all later leaves. Whoever has the file goes round until nothing moves.

MOST_ROUNDS = 30
"""So often leaves are read again with what one-row reasoning proves of them."""
MOST_PASSES = 3
"""So often they are with what all proofs together do."""
STILL_MOVING = (
    "leaf values were cut to few digits, and what all leaves prove of each narrowed them again and again; it was not "
    "followed to its end"
)


def narrower(
    sums: LeafSums, boxes: tuple[IntArray, IntArray], cells: PeopleCells, stops: IndexArray
) -> tuple[IntArray, IntArray] | None:
    """Return the ends of sums, (R,), within which boxes by cell and class (C, m) leave them; None where none moves.

    ``stops`` (T, P) are where profiles stop in the trees that were joined; sums of later trees stay as they are.
    """
    low, high = sums.low.copy(), sums.high.copy()
    for tree, stopped in enumerate(stops):
        for output in np.unique(sums.output[sums.trees == tree]).tolist():
            rows = np.flatnonzero((sums.trees == tree) & (sums.output == output))
            place = np.searchsorted(sums.nodes[rows], stopped[cells.first])
            least, most = (
                np.rint(np.bincount(place, ends[:, output], len(rows))).astype(np.int64)
                for ends in boxes
            )
            low[rows], high[rows] = (
                np.maximum(low[rows], least),
                np.minimum(high[rows], most),
            )
    is_same = (low == sums.low).all() and (high == sums.high).all()
    return None if is_same else (low, high)


def proved_by_rows(rows: JointRows, until: Clock) -> tuple[IntArray, IntArray]:
    """Return the boxes (C, m) that one-row reasoning leaves.

    Raises:
        ContradictionError: no table fits.
    """
    counts = counts_of(rows)
    found = propagate(counts, by_leaves(counts), until)
    return by_class(counts, found.low, found.high)


OVER_TREES_SECONDS = 20.0
"""What the first trees tell is a picture for readers, and worked out as far as that suffices."""
MOST_ENTRIES = 12_000_000
"""So many places of people in leaves are joined, about 50 bytes each with what is worked out of them."""
NOT_ALL_OF_SAMPLES = (
    "each tree saw a sample of the records that is not known here, so only bounds follow: what they prove holds, and "
    "somebody who knows more of the sample may know more"
)
OTHER_LABELS = (
    "the sums that its leaf values give are not those of the table's labels: the table, or what its labels mean, is "
    "another, or leaves were changed after the training, as by pruning"
)
OTHER_WAY_ROUND = (
    "the sums of its leaf values are those of the other class: the labels stand the other way round"
)


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleProblem:
    """What was found, with those whom it is about, their cells, the rows over these and what they prove.

    ``is_part`` says that the file tells more: other trees are not joined, or the rows are only bounds of what was
    drawn. Whoever knows that may tell the people of a cell apart, and rule out tables that fit the rows.
    """

    found: EnsembleInference
    units: Units
    cells: PeopleCells
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


def sums_of(
    forest: Forest, population: Population, training: Mapping[str, float] = MappingProxyType({})
) -> LeafSums | Undetermined:
    """Return what the leaves of all trees of a model say of its people, or why that is not known.

    Draws of a sample are not repeated: of these only bounds are told.
    """
    problem = _unfit(forest, population)
    if problem:
        return Undetermined(problem)
    growth = forest.model.growth if isinstance(forest.model, Ensemble) else None
    found = _read_leaf_facts(forest, population, growth, training, None)
    if isinstance(found, Undetermined):
        return doubting(found, growth, training)
    return _read_again(found, forest, clock(OVER_TREES_SECONDS)).sums


def joined_of(
    forest: Forest,
    population: Population,
    until: Clock,
    searching: float,
    step: Step = silent,
    *,
    training: Mapping[str, float] = MappingProxyType({}),
    seeds: Sequence[int] | None = (),
    over_trees: bool = False,
    enough: Callable[[BoolArray], bool] | None = None,
) -> EnsembleProblem | Undetermined:
    """Return what all trees of a model prove of its people together, or why that is not known.

    The estimate is looked for ``until`` then, other tables for ``searching`` seconds more. ``training`` are settings
    that the file may withhold and the adversary knows. Where neither tells them, those that the library takes by itself
    are tried, and believed where the true values are known and fit. ``seeds`` are what draws of records may have
    started from, tried beside those that the file says; None stands for an adversary who does not know in which order
    the records stood, and so cannot repeat any draws. With ``over_trees`` what the first trees tell is
    worked out too. No other tables are looked for once ``enough`` profiles are certain (P,). ``step`` is told of each
    stage; what it raises ends it.
    """
    problem = _unfit(forest, population)
    if problem:
        return Undetermined(problem)
    model = forest.model
    with step("turning leaf values back into sums of labels"):
        growth = model.growth if isinstance(model, Ensemble) else None
        found = _read_leaf_facts(forest, population, growth, training, seeds)
        if isinstance(found, Undetermined):
            return doubting(found, growth, training)
        units, cells, alone, early_sums = found.units, found.cells, found.rows, found.sums
        used = _used(forest, units)
        found = _read_again(found, forest, until)
    with step("reasoning over the leaves of all trees"):
        for passes in range(MOST_PASSES + 1):
            missing = _missing(found.sums, used, len(forest.trees))
            joint = reason(
                found.rows,
                truth=found.truth,
                until=until,
                searching=0.0 if missing else searching,
                is_certain_enough=never
                if enough is None
                else lambda sure: enough(units.agreed(sure[cells.of]) >= 0),
            )
            leaf_facts = (
                None if joint.problem else _narrowed(found, (joint.low, joint.high), forest)
            )
            if leaf_facts is None:
                break
            is_last = passes + 1 >= MOST_PASSES
            found = (
                replace(leaf_facts, sums=_still_moving(leaf_facts.sums)) if is_last else leaf_facts
            )
        sums, rows = found.sums, found.rows
        if missing:
            joint = of_part(joint, missing)
    if joint.problem:
        no_table = Undetermined(f"no table fits all leaves: {joint.problem}")
        return doubting(no_table, growth, training)
    recovered, leaves = recovered_leaves(sums)
    by_leaf = units.agreed(class_by_leaf(alone, cells)) >= 0
    proved = EnsembleInference(
        len(forest.trees),
        leaves,
        recovered,
        by_leaf,
        sums.facts,
        sums.said,
        joint.left,
        is_complete=sums.is_complete,
        is_replayed=units.draws is not None,
    )
    joined = EnsembleProblem(proved, units, cells, rows, joint, bool(missing))
    if not over_trees:
        return joined
    with step("measuring what the first trees tell"):
        draws = None if units.draws is None else units.draws[:used]
        whole = ReleaseCells(units.stops[:used], first_trees(early_sums, used), draws=draws)
        until = clock(OVER_TREES_SECONDS)
        early = prefixes(whole, units, population, growth, rows.classes, until)
        last = replace(
            count_certain(joint, cells, units, population, by_leaf),
            trees=len(forest.trees),
            predicted=predicted(growth, units, units.stops),
        )
        return replace(joined, found=replace(proved, over_trees=(*early, last)))


@dataclass(frozen=True, slots=True, eq=False)
class _LeafFacts:
    """What the leaves say, as sums and as rows over the cells of units; ``truth`` (C, m) is theirs, if it is known.

    ``case`` is what the sums were read from, None where nothing is learnt by reading it again.
    """

    sums: LeafSums
    rows: JointRows
    units: Units
    cells: PeopleCells
    truth: IntArray | None
    case: GrownCase | None = None


def _read_leaf_facts(
    forest: Forest,
    population: Population,
    growth: EnsembleGrowth | None,
    training: Mapping[str, float],
    seeds: Sequence[int] | None,
) -> _LeafFacts | Undetermined:
    """Return what the leaves say, read off their counts or turned back from their values."""
    units = by_profile(forest.stops, population)
    if growth is None:
        replayed = _replayed(forest, population, None, seeds)
        return replayed or _fitting(counted_sums(forest, population), units, forest)
    classes = len(forest.model.classes)
    grown = knowing(growth, training)
    case = GrownCase(grown, forest.trees, forest.stops, population.counts, classes)
    is_sampled = inverters()[growth.library].is_sampled(grown)
    found: _LeafFacts | Undetermined | None = None
    if is_sampled:
        found = _replayed(forest, population, grown, seeds)
    found = found or _of_case(case, units, forest)
    if isinstance(found, Undetermined) and units.truth is not None:
        found = _by_default(case, units, forest) or found
    if isinstance(found, Undetermined) and is_sampled is None:
        found = _replayed(forest, population, grown, seeds) or found
    return found


def _replayed(
    forest: Forest,
    population: Population,
    growth: EnsembleGrowth | None,
    seeds: Sequence[int] | None,
) -> _LeafFacts | None:
    """Return what the leaves say of the records that were drawn, where these follow from a seed; None otherwise."""
    if seeds is None:
        return None
    for units, sums in replays(forest, population, growth, seeds):
        found = _fitting(sums, units, forest)
        if isinstance(found, _LeafFacts):
            return found
    return None


def _of_case(case: GrownCase, units: Units, forest: Forest) -> _LeafFacts | Undetermined:
    """Return what the values of leaves say; the case goes with it where they were cut."""
    found = _fitting(leaf_sums(case), units, forest)
    if isinstance(found, Undetermined) or not found.sums.is_cut:
        return found
    return replace(found, case=case)


def _read_again(found: _LeafFacts, forest: Forest, until: Clock) -> _LeafFacts:
    """Return what values that were cut say, once what single rows prove of all leaves is known of each."""
    for _ in range(MOST_ROUNDS):
        if found.case is None:
            return found
        try:
            boxes = proved_by_rows(found.rows, until)
        except ContradictionError:  # the reasoning over all rows will say so
            return found
        leaf_facts = _narrowed(found, boxes, forest)
        if leaf_facts is None:
            return found
        found = leaf_facts
    return replace(found, sums=_still_moving(found.sums))


def _narrowed(
    found: _LeafFacts, boxes: tuple[IntArray, IntArray], forest: Forest
) -> _LeafFacts | None:
    """Return what values that were cut say where each cell lies in its box; None where that is nothing new.

    Where they cannot be read so, somebody else may read on: then more may be known.
    """
    if found.case is None:
        return None
    units = found.units
    ends = narrower(found.sums, boxes, found.cells, units.stops[: _used(forest, units)])
    if ends is None:
        return None
    more = _fitting(leaf_sums(replace(found.case, ends=ends)), units, forest)
    if isinstance(more, Undetermined):
        return replace(found, sums=_still_moving(found.sums), case=None)
    return replace(more, case=found.case)


def _still_moving(sums: LeafSums) -> LeafSums:
    return replace(sums, is_complete=False, missing=sums.missing or STILL_MOVING)


def _fitting(
    sums: LeafSums | Undetermined, units: Units, forest: Forest
) -> _LeafFacts | Undetermined:
    """Return sums with their rows; why not, where the true values do not fit them."""
    if isinstance(sums, Undetermined):
        return sums
    used = _used(forest, units)
    draws = None if units.draws is None else units.draws[:used]
    cells = cells_of(units.stops[:used], units.people, draws)
    truth = None if units.truth is None else cells.summed(units.truth)
    part = ReleaseCells(units.stops[:used], first_trees(sums, used), draws=draws)
    rows = rows_of([part], cells, len(forest.model.classes))
    if isinstance(rows, Undetermined):
        return rows
    problem = "" if truth is None else problem_with(rows, truth)
    return Undetermined(problem) if problem else _LeafFacts(sums, rows, units, cells, truth)


def _by_default(case: GrownCase, units: Units, forest: Forest) -> _LeafFacts | None:
    """Return what the leaves say if the library was left to itself where the file is silent; None if that cannot be."""
    growth = case.growth
    defaults = inverters()[growth.library].defaults
    silent_on = {name: value for name, value in defaults.items() if growth.fact(name).value is None}
    if not silent_on:
        return None
    taking = replace(case, growth=knowing(growth, silent_on, FactSource.TAKEN))
    found = _of_case(taking, units, forest)
    if isinstance(found, Undetermined):
        return None
    taken = ", ".join(f"{name} {value:g}" for name, value in silent_on.items())
    said = f"the file withholds how it was trained; what its library does by itself fits, and is taken: {taken}"
    return replace(found, sums=replace(found.sums, said=(*found.sums.said, said)))


def _used(forest: Forest, units: Units) -> int:
    """Return how many trees' leaves are joined: the first ones, as far as memory goes."""
    classes, size = len(forest.model.classes), len(units.people)
    growth = forest.model.growth if isinstance(forest.model, Ensemble) else None
    each = classes if growth is None and classes > 2 else 1
    most = max(1, MOST_ENTRIES // max(each * size, 1))
    return min(len(forest.trees), most)


def _missing(sums: LeafSums, used: int, trees: int) -> str:
    """Return what the file says beyond the rows, "" where they are all that it says."""
    if not sums.is_complete:
        return sums.missing or NOT_ALL_OF_SAMPLES
    if used < trees:
        return f"the leaves of {used:,} of {trees:,} trees were joined, as all would take too much memory"
    return ""


def of_part(joint: Joint, said: str) -> Joint:
    """Return what some of what the file says proves, which holds; what is left open may be settled by the rest."""
    return replace(joint, guess=Undetermined(f"no estimate: {said}"), left=(said,))


def _unfit(forest: Forest, population: Population) -> str:
    """Return why the leaves of all trees say nothing of these people that could be joined; "" where they may."""
    if forest.model.task is Task.REGRESSION:
        return "it predicts a number, not a class"
    if not forest.model.classes:
        return "the file names no class; only its leaves are measured"
    if population.weight is not None:
        return "its trees count sums of sampling weights, which are not turned back into people"
    held = population.counts > 0
    if any((stops[held] < 0).any() for stops in forest.stops):
        return "some records fall in no leaf of a tree, or in several"
    return ""
