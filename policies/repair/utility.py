"""What a changed tree is worth on records that its leaves did not see: leaves are set anew, fold by fold.

The splits stay as they are published, and saw all records, so this is more than new records would give; but a leaf of
few people no longer counts as right about them because it was made of them. That is what training accuracy cannot tell,
and why changes are compared by it wherever a table and a tree allow.

Where records are given that the model was not trained on, the expected loss of its predictions on them is told too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from treewarden.audit.population.forest import said_by
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Reading, Undetermined, exactly
from treewarden.audit.withholding_costs import EQUAL_COSTS, WithholdingCosts
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.outputs.published import PublishedOutput
from treewarden.ppdm_models.tables.matching import matched, target_in
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Task,
    Tree,
)

UtilityName = Literal["accuracy", "auc", "log-loss"]
UTILITY_NAMES: tuple[UtilityName, ...] = get_args(UtilityName)
FOLDS = 5
LEAST_OF_CLASS = FOLDS
"""People of each class that are needed, so that every fold has one."""
NEAR_SHARE = 1e-3
"""How far a leaf's number may lie from the mean of its people, in standard deviations of the target."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldedClasses:
    """People by profile, class and fold: ``counts`` (K, N) of N cells, with ``profiles`` and ``classes`` (N,)."""

    profiles: IndexArray
    classes: IndexArray
    counts: FloatArray
    class_count: int


@dataclass(frozen=True, slots=True, eq=False)
class FoldedNumbers:
    """Records of a numeric target: profile, number and fold of each, (N,)."""

    profiles: IndexArray
    numbers: FloatArray
    folds: IndexArray


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation:
    """Measures trees over the same people by one ``utility``: of numbers always the share of variance explained."""

    utility: UtilityName
    folded: FoldedClasses | FoldedNumbers

    def measure(self, tree: Tree, node_of_profile: IndexArray) -> Reading:
        """Return the mean utility over the folds of a tree whose profiles stop in these nodes, shape (P,).

        More is better: log loss is given below 0. A leaf that publishes its class alone has no shares, so that its
        log loss is not told.
        """
        if isinstance(self.folded, FoldedNumbers):
            return exactly(_explained_variance(self.folded, node_of_profile))
        leaves, place = np.unique(node_of_profile, return_inverse=True)
        has_shares = np.array([_has_shares(tree.nodes[int(leaf)]) for leaf in leaves])
        if self.utility == "log-loss" and not has_shares.all():
            return Undetermined("a leaf that gives its class alone has no log loss")
        counts = _leaf_counts(self.folded, place.reshape(-1), len(leaves))
        return exactly(float(np.mean(_fold_scores(counts, has_shares, self.utility))))


def cross_validation(
    model: Model, population: Population, utility: UtilityName
) -> CrossValidation | Undetermined:
    """Return what measures changes of a model; or why they are compared by training accuracy instead."""
    if not isinstance(model, Tree):
        return Undetermined(
            "the leaves of several trees that work together cannot be computed again "
            "without the training program"
        )
    if (population.leaf < 0).any():
        return Undetermined("some records stop in no leaf")
    if model.task is Task.REGRESSION:
        return _of_numbers(model, population)
    return _of_classes(model, population, utility)


def _of_classes(
    tree: Tree, population: Population, utility: UtilityName
) -> CrossValidation | Undetermined:
    truth = population.truth
    if isinstance(truth, Undetermined):
        return truth
    people = np.rint(truth).astype(np.int64)
    for code, of_class in enumerate(people.sum(axis=0)):
        if 0 < of_class < LEAST_OF_CLASS:
            name = tree.classes[code]
            return Undetermined(f"fewer than {LEAST_OF_CLASS} records have the class {name!r}")
    if (people.sum(axis=0) > 0).sum() < 2:
        return Undetermined("all records have the same class")
    weighed = truth if population.weight is None else truth * population.weight[:, None]
    if not _labels_are_modes(tree, population.leaf, weighed):
        return Undetermined("some leaf predicts another class than most of its records have")
    return CrossValidation(utility, _folded_classes(people, population.weight))


def _labels_are_modes(tree: Tree, leaf: IndexArray, truth: FloatArray) -> bool:
    """Return whether each leaf predicts a class that none of its records' is more frequent than."""
    leaves, place = np.unique(leaf, return_inverse=True)
    counts = np.zeros((len(leaves), truth.shape[1]))
    np.add.at(counts, place.reshape(-1), truth)
    for node, row in zip(leaves, counts, strict=True):
        label = label_of(tree, tree.nodes[int(node)])
        if label is None or row[label] < row.max() * (1 - 1e-9):
            return False
    return True


def _folded_classes(people: IndexArray, weight: FloatArray | None) -> FoldedClasses:
    """Deal the people of each class to the folds in turn, profiles in an order drawn the same way every time."""
    shuffled = np.random.default_rng(0).permutation(len(people))
    profiles, classes, counts = [], [], []
    for code in range(people.shape[1]):
        cells = shuffled[people[shuffled, code] > 0]
        ends = np.cumsum(people[cells, code])
        starts = ends - people[cells, code]
        fold = np.arange(FOLDS)[:, None]
        # How many of the places start, ..., end - 1 leave the remainder of the fold.
        counts.append((ends - fold + FOLDS - 1) // FOLDS - (starts - fold + FOLDS - 1) // FOLDS)
        profiles.append(cells)
        classes.append(np.full(len(cells), code))
    profile = np.concatenate(profiles)
    dealt = np.concatenate(counts, axis=1).astype(np.float64)
    if weight is not None:
        dealt = dealt * weight[profile]
    return FoldedClasses(profile, np.concatenate(classes), dealt, people.shape[1])


def _leaf_counts(folded: FoldedClasses, leaf_of_profile: IndexArray, leaves: int) -> FloatArray:
    """Return what each fold has of each class in each leaf, shape (K, L, C)."""
    key = leaf_of_profile[folded.profiles] * folded.class_count + folded.classes
    size = leaves * folded.class_count
    counts = [np.bincount(key, fold, size) for fold in folded.counts]
    return np.asarray(counts, dtype=np.float64).reshape(-1, leaves, folded.class_count)


def _has_shares(leaf: Node) -> bool:
    """Return whether a leaf says more than its class; a number in a range counts as said."""
    return bool(leaf.class_counts or leaf.class_shares or leaf.bands)


def _fold_scores(
    counts: FloatArray, has_shares: Sequence[bool] | np.ndarray, utility: UtilityName
) -> list[float]:
    """Return the utility of each fold, its leaves set by the other folds; one person of the prior is added to each."""
    whole, scores = counts.sum(axis=0), []
    for fold in counts:
        known = whole - fold
        prior = known.sum(axis=0) / known.sum()
        shares = (known + prior) / (known.sum(axis=1, keepdims=True) + 1)
        labels = shares.argmax(axis=1)
        if utility == "accuracy":
            scores.append(float(fold[np.arange(len(fold)), labels].sum() / fold.sum()))
        elif utility == "log-loss":
            is_there = fold > 0
            scores.append(float((fold[is_there] * np.log(shares[is_there])).sum() / fold.sum()))
        else:
            told = np.where(
                np.asarray(has_shares)[:, None], shares, np.eye(shares.shape[1])[labels]
            )
            scores.append(_area(fold, told))
    return scores


def _area(fold: FloatArray, shares: FloatArray) -> float:
    """Return the area under the curve; of several classes the mean of each against the rest."""
    present = np.flatnonzero(fold.sum(axis=0) > 0)
    areas = [_one_area(fold[:, code], fold.sum(axis=1), shares[:, code]) for code in present]
    return float(np.mean(areas[1:] if len(areas) == 2 else areas))


def _one_area(positive: FloatArray, everybody: FloatArray, score: FloatArray) -> float:
    values, place = np.unique(score, return_inverse=True)
    right = np.bincount(place.reshape(-1), positive, len(values))
    wrong = np.bincount(place.reshape(-1), everybody - positive, len(values))
    below = np.cumsum(wrong) - wrong
    return float((right * (below + wrong / 2)).sum() / (right.sum() * wrong.sum()))


def _of_numbers(tree: Tree, population: Population) -> CrossValidation | Undetermined:
    order = population.order
    if order is None or order.numbers is None:
        return Undetermined("rows of the table stand for several people each")
    numbers, profiles = np.asarray(order.numbers, dtype=np.float64), np.asarray(order.profiles)
    if len(numbers) < 2 * FOLDS or np.isnan(numbers).any() or not numbers.std():
        return Undetermined("the table has too few records, or one number only")
    node = population.leaf[profiles]
    sizes = np.maximum(np.bincount(node, minlength=len(tree.nodes)), 1)
    means = np.bincount(node, numbers, len(tree.nodes)) / sizes
    for leaf in np.unique(node):
        score = tree.nodes[int(leaf)].score
        if not isinstance(score, int | float):
            return Undetermined("some leaf predicts no number")
        if abs(float(score) - means[leaf]) > NEAR_SHARE * numbers.std():
            return Undetermined("some leaf predicts another number than the mean of its records")
    folds = np.random.default_rng(0).permutation(len(numbers)) % FOLDS
    return CrossValidation("accuracy", FoldedNumbers(profiles, numbers, folds))


def _explained_variance(folded: FoldedNumbers, node_of_profile: IndexArray) -> float:
    node, scores = node_of_profile[folded.profiles], []
    for fold in range(FOLDS):
        is_out = folded.folds == fold
        known, numbers = node[~is_out], folded.numbers[~is_out]
        size = int(node.max()) + 1
        people = np.bincount(known, minlength=size)
        means = np.full(size, numbers.mean())
        sums = np.bincount(known, numbers, size)
        means[people > 0] = sums[people > 0] / people[people > 0]
        held_out = folded.numbers[is_out]
        spread = ((held_out - held_out.mean()) ** 2).sum()
        if spread > 0:
            scores.append(1 - ((held_out - means[node[is_out]]) ** 2).sum() / spread)
    return float(np.mean(scores)) if scores else 0.0


@dataclass(frozen=True, slots=True)
class Holdout:
    """N records: their attributes, and what a model should have said of each.

    ``truth`` has shape (N,): codes into the model's classes, -1 for a value that is none; for regression the number.
    """

    columns: Mapping[str, Column]
    truth: FloatArray

    def loss(self, model: Model) -> Reading:
        """Return the expected loss of a model over the same attributes.

        That is the share of records predicted wrong (0-1 loss); for regression the mean squared error.
        """
        said = self._predicted(model)
        if isinstance(said, Undetermined):
            return said
        if model.task is Task.CLASSIFICATION:
            return exactly(float(np.mean((said != self.truth) | (said < 0))))
        if np.isnan(said).any():
            return Undetermined("some leaf predicts nothing")
        return exactly(float(np.mean((said - self.truth) ** 2)))

    def _predicted(self, model: Model) -> FloatArray | Undetermined:
        """Return what each record is told, shape (N,), as ``truth`` has it."""
        if isinstance(model, Ensemble):
            said = said_by(model, self.columns)
            if isinstance(said, Undetermined):
                return said
            codes = {name: float(code) for code, name in enumerate(model.classes)}
            nothing = -1.0 if model.task is Task.CLASSIFICATION else np.nan
            return np.array(
                [nothing if s is None else codes[s] if isinstance(s, str) else s for s in said]
            )
        stops = route(model, self.columns)
        if (stops < 0).any():
            return Undetermined(f"{int((stops < 0).sum())} records of the holdout fall in no leaf")
        return np.array([_node_prediction(model, node) for node in model.nodes])[stops]


def holdout_of(tree: Model, table: Table, target: str = "") -> Holdout:
    """Return the records of a table as the model sees them; ``target`` is the column it predicts, if it names none.

    Raises:
        TableError: the table is empty, lacks a column, or does not say what the model predicts.
    """
    used = _used(tree)
    names = matched(
        tree,
        table,
        sensitive=target_in(tree, table) or target or None,
        qi=[feature.name for feature in used],
    )
    table, target = names.table, names.sensitive or ""
    if not target:
        raise TableError(table.source, "the model does not name its target; add --sensitive COLUMN")
    if not table.rows:
        raise TableError(table.source, "it has no records; give records that were held out")
    columns = {feature.name: table.column(feature) for feature in used}
    numeric = tree.task is Task.REGRESSION
    truth = table.column(Feature(target, numeric, () if numeric else tree.classes))
    if truth.missing.any():
        row = int(np.flatnonzero(truth.missing)[0]) + 1
        raise TableError(
            table.source, f"column {target!r}, record {row}: no value; leave such records out"
        )
    if not columns:  # a tree of one node asks nothing
        columns = {target: truth}
    if isinstance(truth, NumericColumn):
        return Holdout(columns, truth.numbers)
    if not set(truth.categories) & set(tree.classes):
        have = ", ".join(map(repr, tree.classes[:12]))
        problem = f"column {target!r} has no class of the tree, such as {have}"
        raise TableError(
            table.source, f"{problem}; give records with the column that the model predicts"
        )
    code = {name: number for number, name in enumerate(tree.classes)}
    codes = np.array([code.get(name, -1) for name in truth.categories], dtype=np.float64)
    return Holdout(columns, codes[truth.codes])


def _used(model: Model) -> tuple[Feature, ...]:
    """Return the features that are tested; of an ensemble all, as whether a part speaks is a test too."""
    return model.used_features() if isinstance(model, Tree) else model.features


def _node_prediction(tree: Tree, node: Node) -> float:
    """Return what a node predicts: the code of a class (-1: none), or a number (NaN: none)."""
    if tree.task is Task.CLASSIFICATION:
        label = label_of(tree, node)
        return -1.0 if label is None else float(label)
    return float("nan") if node.score is None else float(node.score)


# What a repair may use beyond the model and its people.


@dataclass(frozen=True, slots=True)
class RepairResources:
    """What a repair may use beyond the model and its people.

    ``taxonomies`` are hierarchies of values that remedies may merge by; ``table`` holds the records where they are to
    be published beside the tree; ``holdout`` is what the loss is measured on. ``bases`` are the widths of bands that
    numbers are given in, in records (empty: those that ``redact`` knows). ``trees_alone`` says that the changed model
    is written in another format than the original: nothing that stands beside the trees comes along. ``utility`` is
    what changes are compared by, cross-validated where that can be told. ``costs`` are those of withholding numbers;
    with ``same_everywhere`` all numbers of a tree are withheld or none. ``beside`` is published with the model.
    """

    taxonomies: Taxonomies = field(default_factory=dict)
    table: Table | None = None
    holdout: Holdout | None = None
    bases: tuple[int, ...] = ()
    trees_alone: bool = False
    utility: UtilityName = "accuracy"
    costs: WithholdingCosts = EQUAL_COSTS
    same_everywhere: bool = False
    beside: tuple[PublishedOutput, ...] = ()


# When a search has to end: a reading of a clock that whoever starts it chooses.


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment ``end`` on a ``clock`` in seconds; infinite where there is no limit."""

    end: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline so many seconds from now; None for no limit."""
        return cls(math.inf if seconds is None else clock() + seconds, clock)

    @property
    def left(self) -> float:
        """Seconds that are left; infinite where there is no limit."""
        return max(self.end - self.clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.end


NO_LIMIT = Deadline()
"""As long as it takes."""
