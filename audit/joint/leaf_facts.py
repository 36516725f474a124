"""What the leaves of all trees say of their people: sums of labels, as rows over the people's cells.

Leaf values that the file cuts to few digits are narrowed by what all leaves prove of each; leaves that publish their
class counts need no inverting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.counts import bound_by_rows
from treewarden.audit.engine.problem import Problem, breaking
from treewarden.audit.inverters import (
    GrownCase,
    LeafSums,
    inverters,
    knowing,
    leaf_sums,
    taking_defaults,
)
from treewarden.audit.joint.cells import (
    PeopleCells,
    ReleaseCells,
    cells_of,
    first_trees,
    rows_of,
)
from treewarden.audit.joint.draws import (
    LABEL_TIES,
    MORE_THAN_LABELS,
    NOT_COUNTED,
    STOPS_EARLY,
    ClassCountBounds,
    LabelTies,
    Units,
    by_profile,
    counts_at,
    drawn_sums,
    ends_of,
    label_ends,
    replays,
    sums_of,
    uncounted_leaves,
)
from treewarden.audit.joint.known_facts import KnownRows
from treewarden.audit.joint.sampling_weights import weigh_leaves, weight_units, weights_in_leaves
from treewarden.audit.population.forest import Forest, sample_in_words
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import (
    REWEIGHTED,
    has_unnamed_weights,
    unnamed_weights,
)
from treewarden.audit.population.target import label_of
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    EnsembleGrowth,
    FactSource,
    Model,
    growth_of,
)
from treewarden.ppdm_models.tree.tree import (
    Node,
    Tree,
    completed,
    count_of,
)

# Leaf values that were cut to few digits, read again with what all leaves prove of each.
#
# A value with few digits leaves bounds of the labels in its leaf. Other leaves may narrow these; then the value
# itself is known better than its digits say it, so is what the model said of everybody before the next tree, and so
# are the sums of all later leaves. Whoever has the file goes round until nothing moves.

MOST_ROUNDS = 30
"""How often cut leaf values are read again with what single rows prove of each leaf."""
STILL_MOVING = (
    "leaf values are rounded, and the search for the removed digits was stopped before its end"
)


def narrow_sums(
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


MOST_ENTRIES = 12_000_000
"""So many places of people in leaves are joined, about 50 bytes each with what is worked out of them."""
OTHER_LABELS = (
    "its leaf values do not match the table's labels: the table or the meaning of its "
    "labels is another, or leaves were changed after the training (as by pruning)"
)
OTHER_WAY_ROUND = "its leaf values match the labels in reverse: the two classes are swapped"


def problem_with(rows: Problem, truth: IntArray) -> str:
    """Return why the rows cannot be of these people, whose true values (C, m) are known; "" where they can."""
    if not len(breaking(rows, truth)):
        scaled = None if rows.scaled is None else rows.scaled.over(rows.classes)
        return "" if scaled is None or scaled.fits(truth.reshape(-1)) else OTHER_LABELS
    if rows.classes == 2 and not len(breaking(rows, truth[:, ::-1])):
        return OTHER_WAY_ROUND
    return OTHER_LABELS


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleLeafFacts:
    """What the leaves say, as sums and as rows over the cells of units; ``truth`` (C, m) is theirs, if it is known.

    ``case`` is what the sums were read from, None where nothing is learnt by reading it again.
    """

    sums: LeafSums
    rows: Problem
    units: Units
    cells: PeopleCells
    truth: IntArray | None
    case: GrownCase | None = None


def read_leaf_facts(
    forest: Forest,
    population: Population,
    growth: EnsembleGrowth | None,
    training: Mapping[str, float],
    seeds: Sequence[int] | None,
    background: KnownRows | None = None,
    ties: LabelTies = LabelTies.OPEN,
) -> EnsembleLeafFacts | Undetermined:
    """Return what the leaves say, read off their counts or inverted from their values, beside facts."""
    units = by_profile(forest.stops, population).knowing(background)
    units = replace(units, weights=weights_in_leaves(forest, population))
    if growth is None:
        replayed = _replayed(forest, population, None, seeds, background)
        return replayed or _fitting(counted_sums(forest, population, ties), units, forest)
    classes = len(forest.model.classes)
    grown = knowing(growth, training)
    case = GrownCase(
        grown,
        forest.trees,
        forest.stops,
        population.counts,
        classes,
        columns=population.columns,
    )
    is_sampled = inverters()[growth.library].is_sampled(grown)
    found: EnsembleLeafFacts | Undetermined | None = None
    if is_sampled:
        found = _replayed(forest, population, grown, seeds, background)
    found = found or _of_case(case, units, forest)
    if isinstance(found, Undetermined) and units.truth is not None:
        found = _by_default(case, units, forest) or found
    if isinstance(found, Undetermined) and is_sampled is None:
        found = _replayed(forest, population, grown, seeds, background) or found
    return found


def _replayed(
    forest: Forest,
    population: Population,
    growth: EnsembleGrowth | None,
    seeds: Sequence[int] | None,
    background: KnownRows | None,
) -> EnsembleLeafFacts | None:
    """Return what the leaves say of the records that were drawn, where these follow from a seed; None otherwise."""
    if seeds is None:
        return None
    for units, sums in replays(forest, population, growth, seeds):
        found = _fitting(sums, units.knowing(background), forest)
        if isinstance(found, EnsembleLeafFacts):
            return found
    return None


def _of_case(case: GrownCase, units: Units, forest: Forest) -> EnsembleLeafFacts | Undetermined:
    """Return what the values of leaves say; the case goes with it where they were cut."""
    found = _fitting(leaf_sums(case), units, forest)
    if isinstance(found, Undetermined) or not found.sums.is_cut:
        return found
    return replace(found, case=case)


def refine_cut_values(facts: EnsembleLeafFacts, forest: Forest, until: Clock) -> EnsembleLeafFacts:
    """Return what values that were cut say, once what single rows prove of all leaves is known of each."""
    for _ in range(MOST_ROUNDS):
        if facts.case is None:
            return facts
        try:
            boxes = bound_by_rows(facts.rows, until)
        except ContradictionError:  # the reasoning over all rows will say so
            return facts
        narrowed = narrow_cut_values(facts, boxes, forest)
        if narrowed is None:
            return facts
        facts = narrowed
    return replace(facts, sums=mark_unfinished(facts.sums))


def narrow_cut_values(
    facts: EnsembleLeafFacts, boxes: tuple[IntArray, IntArray], forest: Forest
) -> EnsembleLeafFacts | None:
    """Return what values that were cut say where each cell lies in its box; None where that is nothing new.

    Where they cannot be read so, somebody else may read on: then more may be known.
    """
    if facts.case is None:
        return None
    units = facts.units
    ends = narrow_sums(facts.sums, boxes, facts.cells, units.stops[: joined_trees(forest, units)])
    if ends is None:
        return None
    more = _fitting(leaf_sums(replace(facts.case, ends=ends)), units, forest)
    if isinstance(more, Undetermined):
        return replace(facts, sums=mark_unfinished(facts.sums), case=None)
    return replace(more, case=facts.case)


def mark_unfinished(sums: LeafSums) -> LeafSums:
    """Return sums of which more may be known, as reading them again was not followed to its end."""
    return replace(sums, is_complete=False, missing=sums.missing or STILL_MOVING)


def _fitting(
    sums: LeafSums | Undetermined, units: Units, forest: Forest
) -> EnsembleLeafFacts | Undetermined:
    """Return sums with their rows; why not, where the true values do not fit them."""
    if isinstance(sums, Undetermined):
        return sums
    cells, rows = rows_of_first(sums, units, joined_trees(forest, units), len(forest.model.classes))
    truth = None if units.truth is None else cells.summed(units.truth)
    if isinstance(rows, Undetermined):
        return rows
    problem = "" if truth is None else problem_with(rows, truth)
    return Undetermined(problem) if problem else EnsembleLeafFacts(sums, rows, units, cells, truth)


def rows_of_first(
    sums: LeafSums, units: Units, trees: int, classes: int
) -> tuple[PeopleCells, Problem | Undetermined]:
    """Return the cells that so many first trees tell apart, and their sums as rows over these."""
    stops, draws = units.stops[:trees], None if units.draws is None else units.draws[:trees]
    cells = cells_of(stops, units.people, draws, units.parts)
    part = ReleaseCells(stops, first_trees(sums, trees), draws=draws, weights=units.weights)
    return cells, rows_of([part], cells, classes, units.background)


def _by_default(case: GrownCase, units: Units, forest: Forest) -> EnsembleLeafFacts | None:
    """Return what the leaves say if the library was left to itself where the file is silent; None if that cannot be."""
    taking = taking_defaults(case)
    if taking is None:
        return None
    found = _of_case(taking, units, forest)
    if isinstance(found, Undetermined):
        return None
    facts = taking.growth.facts.items()
    silent_on = {name: fact.value for name, fact in facts if fact.source is FactSource.TAKEN}
    taken = ", ".join(f"{name} {value:g}" for name, value in silent_on.items())
    said = (
        "the file does not contain its training settings. The library's defaults fit and were "
        f"assumed: {taken}"
    )
    return replace(found, sums=replace(found.sums, said=(*found.sums.said, said)))


def joined_trees(forest: Forest, units: Units) -> int:
    """Return how many trees' leaves are joined: the first ones, as far as memory goes."""
    classes, size = len(forest.model.classes), len(units.people)
    growth = growth_of(forest.model)
    each = classes if growth is None and classes > 2 else 1
    most = max(1, MOST_ENTRIES // max(each * size, 1))
    return min(len(forest.trees), most)


MORE_ABOVE = (
    "some leaf counts are missing, and for several trees the numbers and labels of inner nodes, "
    "which may reveal them, are not used"
)
LABELS_UNKNOWN = (
    "some leaf counts are missing, and what the labels of these leaves say is not used, because "
    "the true classes are not known"
)
LABELS_UNUSED = (
    "some leaf counts are missing, and the labels of these leaves, which need not be the most "
    "frequent class, are not used"
)


REWEIGHTING = (Combination.WEIGHTED_MAJORITY_VOTE, Combination.WEIGHTED_MEDIAN)
"""How boosting by weights combines its trees (Freund & Schapire 1997, Drucker 1997)."""


def counted_sums(
    forest: Forest, population: Population, ties: LabelTies = LabelTies.OPEN
) -> LeafSums | Undetermined:
    """Return what the leaves of all trees publish, of every class, or of the second one where there are two.

    A count that is withheld lies between nothing and what the others leave of the leaf, and where its label leads, as
    the label says. Draws of a random sample count nobody, but show who must be there.
    """
    if isinstance(forest.model, Ensemble) and forest.model.sampling.resampled:
        return drawn_sums(forest, by_profile(forest.stops, population))
    if forest.draws:
        return Undetermined(sample_in_words(forest.model))
    classes = forest.model.classes
    class_count_bounds: list[ClassCountBounds] = []
    for tree in forest.trees:
        if has_unnamed_weights(tree, population.weights):
            is_boosted = (
                isinstance(forest.model, Ensemble) and forest.model.combination in REWEIGHTING
            )
            return Undetermined(REWEIGHTED if is_boosted else unnamed_weights(tree))
    weights = weight_units(population)
    if weights is not None:
        return weigh_leaves(forest, population, weights)
    missing, reads_labels = "", False
    for number, (tree, stops) in enumerate(zip(forest.trees, forest.stops, strict=True)):
        if not set(tree.classes) <= set(classes):
            return NOT_COUNTED
        here = stops >= 0
        if not tree.has_people:
            inside = np.bincount(stops[here], population.counts[here], len(tree.nodes))
            told = uncounted_leaves(forest.model, number, tree, inside.astype(np.float64))
            if isinstance(told, Undetermined):
                return told
            class_count_bounds.append(told[0])
            missing = missing or told[1]
            continue
        nodes = np.flatnonzero(np.bincount(stops[here], minlength=len(tree.nodes)))
        counts = counts_at(tree, nodes, classes)
        if not isinstance(counts, Undetermined):
            class_count_bounds.append(ends_of(number, nodes, counts, counts))
            continue
        opened = _open_leaves(forest.model, number, tree, stops, population, ties)
        if isinstance(opened, Undetermined):
            return opened
        class_count_bounds.append(opened.ends)
        missing, reads_labels = missing or opened.missing, reads_labels or opened.reads_labels
    sums = replace(sums_of(class_count_bounds), reads_labels=reads_labels)
    is_open = bool((sums.low < sums.high).any())
    if is_open and any(_tells(node) for tree in forest.trees for node in tree.nodes):
        missing = missing or MORE_ABOVE
    return replace(sums, is_complete=False, missing=missing) if missing else sums


@dataclass(frozen=True, slots=True, eq=False)
class _OpenLeaves:
    """The ends of the leaves of a tree some counts of which are withheld, and what the file says beyond them."""

    ends: ClassCountBounds
    missing: str
    reads_labels: bool


def _open_leaves(
    model: Model,
    number: int,
    tree: Tree,
    stops: IndexArray,
    population: Population,
    ties: LabelTies,
) -> _OpenLeaves | Undetermined:
    """Return what the leaves of a tree say that withholds some counts, by these and by the labels of the others."""
    classes, here, truth = model.classes, stops >= 0, population.truth
    people = np.bincount(stops[here], population.counts[here], len(tree.nodes))
    nodes = np.flatnonzero(np.bincount(stops[here], minlength=len(tree.nodes)))
    ends = np.zeros((2, len(nodes), len(classes)))
    if all(tree.nodes[index].class_counts is None for index in nodes.tolist()) and isinstance(
        truth, Undetermined
    ):
        return NOT_COUNTED
    missing, reads_labels = "", False
    for row, index in enumerate(nodes.tolist()):
        node, size = tree.nodes[index], float(people[index])
        if not node.is_leaf:
            # Whoever stops there, for want of a value, is among others who passed: its counts are of all of them.
            return STOPS_EARLY
        for output, low, high in _ends(tree, node, size, classes):
            ends[:, row, output] = low, high
        if len(classes) == 2:
            ends[:, row, 0] = size - ends[1, row, 1], size - ends[0, row, 1]
        if (ends[0, row] == ends[1, row]).all():
            continue
        if label_of(tree, node) is None:
            continue
        is_of_all = isinstance(model, Ensemble) and model.sampling.resampled is False
        if not is_of_all and count_of(node) is None:
            missing = missing or LABELS_UNUSED  # it may be that of a sample
            continue
        leading = _label_that_leads(tree, node, stops == index, population, classes)
        if isinstance(leading, str):
            missing = missing or leading
            continue
        reads_labels = True
        said = label_ends(*leading, ties)
        ends[0, row] = np.maximum(ends[0, row], said[0])
        ends[1, row] = np.minimum(ends[1, row], said[1])
    if reads_labels and ties is LabelTies.OPEN:
        missing = missing or LABEL_TIES
    elif reads_labels and ties is LabelTies.EITHER and len(classes) > 2:
        missing = missing or MORE_THAN_LABELS
    return _OpenLeaves(ends_of(number, nodes, *ends), missing, reads_labels)


def _label_that_leads(
    tree: Tree, node: Node, is_inside: BoolArray, population: Population, classes: Sequence[str]
) -> tuple[int, IntArray] | str:
    """Return the class that a leaf's label names with the leaf's true counts, which it leads; or why it is not used.

    A file without a label at a leaf names one all the same: the class that it counts most of.
    """
    truth, label = population.truth, label_of(tree, node)
    if isinstance(truth, Undetermined):
        return LABELS_UNKNOWN
    weighs = tree.learner.weighs_classes or tree.learner.saw_noise
    if weighs or tree.label_reason or tree.unused or label is None:
        return LABELS_UNUSED
    own = classes.index(tree.classes[label])
    counts = np.rint(truth[is_inside].sum(axis=0)).astype(np.int64)
    return (own, counts) if counts[own] == counts.max() else LABELS_UNUSED


def _tells(node: Node) -> bool:
    """Return whether an inner node says something of its people's classes."""
    told = (node.class_counts, node.bands, node.class_shares, node.impurity, node.score)
    return not node.is_leaf and any(each is not None for each in told)


def _ends(
    tree: Tree, node: Node, size: float, classes: Sequence[str]
) -> Iterator[tuple[int, float, float]]:
    """Yield each class that is counted with the least and the most people of it in a leaf."""
    told = node.class_counts or (None,) * len(tree.classes)
    counts = completed(told, size if node.records is None else count_of(node))
    known = sum(count for count in counts if count is not None)
    bands = node.bands or (None,) * len(tree.classes)
    for output, name in enumerate(classes):
        if len(classes) == 2 and output == 0:
            continue
        if name not in tree.classes:
            yield output, 0.0, 0.0
            continue
        code = tree.classes.index(name)
        count, band = counts[code], bands[code]
        if count is not None:
            yield output, count, count
        elif band is not None:
            yield output, max(np.ceil(band[0]), 0.0), min(np.floor(band[1]), size)
        else:
            yield output, 0.0, max(size - known, 0.0)
