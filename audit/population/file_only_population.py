"""The leaves as a model's file alone tells them, where no table is at hand: what its counts prove of people.

A count in a file may be many things: people, sums of weights, draws of a sample. Three cases are told apart. Where the
format says how many rows a node holds and what they weigh, and both agree, the size of a leaf is a number of people,
and its classes are those it has; how many people each has is not known where weights may add up to the rows. Where
whole numbers add up and nothing more is known, a count may still be a sum of whole weights: then the people are that
many or fewer, a class with a count is there, and one without is not. Anything else (weights, shares, draws) tells
nothing.
Whoever wrote the file is believed; only the table shows that its numbers are true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

from treewarden.audit.population.forest import DRAWS, Forest, joined, sample_in_words
from treewarden.audit.population.leaves import Leaves, described
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import REASONS
from treewarden.ppdm_models.tables.routing import NOWHERE
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.tree import (
    Node,
    Quality,
    Tree,
    completed,
    count_of,
)

NO_TABLE = "no table was given, so only the file was judged"
ROWS_BESIDE_WEIGHTS = frozenset({"sklearn", "scikit-learn", "skops_file", "rpart_json"})
"""Formats that hold the rows of each node beside the sum of their weights: their exact counts are rows, one each."""
MAYBE_WEIGHTS = (
    "the file does not state whether its counts are people or sums of weights; add the "
    "training table: --data TABLE"
)
MIXED_BY_WEIGHTS = (
    "the file does not state whether records had weights, and these may add up to the records of a "
    "leaf and still change the counts of its classes; add the training table: --data TABLE"
)
STAY = (
    "records may stop above the leaves, and they can be counted only with the table: --data TABLE"
)
Told = tuple[int, Node]
"""A leaf that says its size, and the number of its tree."""
BOUNDED = (
    "the learner moved shares of classes to keep them in order (monotonic_cst), so class counts "
    "need not be people; add the training table: --data TABLE"
)
NOT_ALL = "some leaves contain no class counts"
NOT_KNOWN = Undetermined(NOT_ALL)


@dataclass(frozen=True, slots=True)
class FileOnlyPopulation:
    """What a file says of its leaves; ``forest`` holds those that say a size, as if their people were a table's.

    ``doubt`` is "" where these are all the leaves and their counts are people; else why the truth may be worse.
    ``with_classes`` are the leaves that also say who is of which class, ``pure`` those of one class only: of these the
    shares of people are known even where the counts may be sums of weights (``may_weigh``). ``may_mix`` says that some
    leaf has class counts that weights may have moved, though its size is known.
    """

    forest: Forest
    population: Population
    doubt: str
    with_classes: Leaves | Undetermined
    pure: Leaves | Undetermined
    may_weigh: bool
    may_mix: bool

    def doubt_about(self, *, of_numbers: bool) -> str:
        """Return why the truth may be worse than what the leaves say, of the number of people of each class or not."""
        return self.doubt or (MIXED_BY_WEIGHTS if of_numbers and self.may_mix else "")

    def leaves(self, *, of_classes: bool, of_shares: bool) -> Leaves | Undetermined:
        """Return the leaves of which something is known: of their sizes, of their classes, of the classes' shares."""
        if not of_classes:
            return self.forest.leaves
        return self.pure if of_shares and self.may_weigh else self.with_classes


def said_of(model: Model, sensitive: str | None = None) -> FileOnlyPopulation:
    """Return what the file of a model tells of its leaves."""
    trees = tuple(trees_of(model))
    reason = _useless(model, trees)
    told = (
        []
        if reason
        else [(t, leaf) for t, tree in enumerate(trees) for leaf in _sized_leaves(tree)]
    )
    doubt = reason or _doubt(trees, told)
    people = _population(model, told, sensitive)
    stops = np.full((len(trees), len(told)), NOWHERE, dtype=np.intp)
    for position, (t, leaf) in enumerate(told):
        stops[t, position] = leaf.index
    sizes = _leaves(model, trees, told, people, doubt)
    classes = [
        (t, leaf)
        for t, leaf in told
        if trees[t].quality is Quality.EXACT
        and not trees[t].learner.bounds_shares
        and model.classes
        and _classes(leaf) is not None
    ]  # counts that were derived may come from shares that were rounded when printed
    pure = [
        class_name for class_name in classes if np.count_nonzero(_classes(class_name[1]) or ()) == 1
    ]
    shown = 0
    if isinstance(sizes, Leaves):
        shown = int(sizes.trees[sizes.records.argmin()])
    forest = Forest(model, trees, stops, sizes, shown, Undetermined(NO_TABLE))
    return FileOnlyPopulation(
        forest=forest,
        population=people,
        doubt=doubt,
        with_classes=_leaves(model, trees, classes, people, doubt),
        pure=_leaves(model, trees, pure, people, doubt),
        may_weigh=not all(map(_counts_rows, trees)),
        may_mix=any(map(_may_mix, trees)),
    )


def _may_mix(tree: Tree) -> bool:
    """Whether some leaf has several classes and more records than classes, so that weights may hide their numbers."""
    sizes = ((sum(map(bool, _classes(leaf) or ())), count_of(leaf)) for leaf in tree.leaves)
    return any(present > 1 and count != present for present, count in sizes)


def _useless(model: Model, trees: Sequence[Tree]) -> str:
    """Return why no count of the file bounds a number of people; "" where they do."""
    if not trees:
        return "the model holds no tree"
    if isinstance(model, Ensemble) and model.sampling.resampled is not False:
        return sample_in_words(model) if model.sampling.resampled else f"it may be that {DRAWS}"
    worst = next((tree for tree in trees if not tree.has_people), None)
    if worst is not None:
        return f"{REASONS[worst.quality]}; give the table"
    return ""


def _sized_leaves(tree: Tree) -> list[Node]:
    """Return the leaves that say how many records they hold; a leaf of nobody singles out nobody."""
    counts = ((leaf, count_of(leaf)) for leaf in tree.leaves)
    return [leaf for leaf, count in counts if count is not None and count > 0 and is_whole(count)]


def _counts_rows(tree: Tree) -> bool:
    return tree.quality is Quality.EXACT and tree.format in ROWS_BESIDE_WEIGHTS


def _doubt(trees: Sequence[Tree], stated_leaves: Sequence[Told]) -> str:
    """Return why the truth may be worse than what the leaves say; "" where it cannot."""
    known = {(t, leaf.index) for t, leaf in stated_leaves}
    for t, tree in enumerate(trees):
        for leaf in tree.leaves:
            counts = _classes(leaf)
            if (t, leaf.index) not in known and count_of(leaf) != 0:
                return NOT_ALL
            if tree.classes and counts is None:
                return NOT_ALL
            if counts is not None and not all(map(is_whole, counts)):
                return NOT_ALL
        if not _adds_up(tree):
            return STAY
    if any(tree.classes and tree.learner.bounds_shares for tree in trees):
        return BOUNDED
    return "" if all(map(_counts_rows, trees)) else MAYBE_WEIGHTS


def _adds_up(tree: Tree) -> bool:
    """Whether each inner node holds what its children hold, so that nobody stops above the leaves."""
    for node in tree.nodes:
        if node.is_leaf:
            continue
        own = count_of(node)
        children = [count_of(tree.nodes[child]) for child in node.children]
        known = [count for count in children if count is not None]
        if own is None or len(known) != len(children) or own != sum(known):
            return False
    return True


def _classes(leaf: Node) -> tuple[float, ...] | None:
    """Return the class counts of a leaf where all are told, and sum to its records."""
    counts = completed(leaf.class_counts or (), count_of(leaf))
    known = tuple(count for count in counts if count is not None)
    if not counts or len(known) != len(counts) or sum(known) != count_of(leaf):
        return None
    return known


def _population(model: Model, stated_leaves: Sequence[Told], sensitive: str | None) -> Population:
    """Return one profile a leaf: whoever is in it, of whom nothing else is known."""
    truth: FloatArray | Undetermined = Undetermined(NO_TABLE)
    classes = [_classes(leaf) for _, leaf in stated_leaves]
    is_counted = isinstance(model, Tree) and model.classes and not model.learner.bounds_shares
    if stated_leaves and None not in classes and is_counted:
        truth = np.array(classes, dtype=np.float64)
    stops = [leaf.index if isinstance(model, Tree) else NOWHERE for _, leaf in stated_leaves]
    return Population(
        qi=(),
        columns={},
        counts=np.array([count_of(leaf) for _, leaf in stated_leaves], dtype=np.float64),
        leaf=np.array(stops, dtype=np.intp),
        truth=truth,
        values=Undetermined(NO_TABLE),
        sensitive=sensitive or "",
        is_absent=True,
    )


def _leaves(
    model: Model,
    trees: Sequence[Tree],
    stated_leaves: Sequence[Told],
    people: Population,
    doubt: str,
) -> Leaves | Undetermined:
    """Return some leaves of all trees, with their classes where each of them says these."""
    if not stated_leaves:
        return Undetermined(doubt or NOT_ALL)
    classes = [_classes(leaf) for _, leaf in stated_leaves]
    parts = [
        described(trees[t], people, [leaf for _, leaf in here], people.counts[:0], NOT_KNOWN)
        for t, here in groupby(stated_leaves, key=itemgetter(0))
    ]
    held: FloatArray | Undetermined = NOT_KNOWN
    labels: IndexArray | Undetermined = NOT_KNOWN
    if all(tree.classes == model.classes for tree in trees):
        labels = joined([part.labels for part in parts])
        if model.classes and None not in classes:
            held = np.array(classes, dtype=np.float64)
    trees_ = np.array([t for t, _ in stated_leaves], dtype=np.intp)
    whole: FloatArray | Undetermined = Undetermined(doubt)
    if not doubt and not isinstance(held, Undetermined):
        whole = held[trees_ == 0].sum(axis=0)
    return Leaves(
        nodes=np.array([leaf.index for _, leaf in stated_leaves], dtype=np.intp),
        records=np.array([count_of(leaf) for _, leaf in stated_leaves], dtype=np.float64),
        classes=held,
        labels=labels,
        published=joined([part.published for part in parts]),
        trees=trees_,
        whole=whole,
    )
