"""The conditions under which the same tree grows from sanitised records, each checked on the records themselves.

scikit-learn's best-first trees are called the same only where several random seeds agree. Its trees are binary on
numbers of 32 bits: each category that a split may name is a column of zeros and ones (one column where an attribute has
two categories). ``random_state`` draws the order in which columns are tried, so equally good splits are chosen by the
seed, and even by columns that no split uses.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.learn.splits import (
    ANY,
    LearnedAttribute,
    Response,
    SplitRule,
    attributes_of,
    best_split,
    threshold,
    worth_of,
)
from treewarden.ppdm_models.methods.tpp.cells import CategorySplit, SplitsByAttribute, rows_of
from treewarden.ppdm_models.tree.column import (
    Column,
    Columns,
    NumericColumn,
    categorical,
    number_text,
    numeric,
)
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest, Predicate, text
from treewarden.ppdm_models.tree.tree import Feature, Node, Task, Tree

CONDITIONS = ("same categories", "order", "midpoint", "unused constant", "same tree")


@dataclass(frozen=True, slots=True)
class BrokenCondition:
    """A condition that does not hold, and where."""

    condition: str
    words: str


def problems(
    columns: Columns,
    sanitised: Columns,
    trees: Sequence[Tree],
    splits_by_attribute: SplitsByAttribute,
) -> Iterator[BrokenCondition]:
    """Yield where sanitised attributes break a condition of the theorem (2 and 3, rebuilt from its proof).

    The response is not among the attributes and never changes (condition 1).
    """
    for name, column in columns.items():
        changed = sanitised[name]
        if name in splits_by_attribute.cuts:
            if not _in_order(column, changed):
                yield BrokenCondition("order", f"{name!r}: two values change places")
        elif name in splits_by_attribute.choices:
            for choice in splits_by_attribute.choices[name]:
                if not _keeps(column, changed, choice):
                    where = f"{name!r}: node {choice.node!r} no longer tells its branches apart"
                    yield BrokenCondition("same categories", where)
        elif len(np.unique(changed.keys)) > 1:
            yield BrokenCondition(
                "unused constant", f"{name!r}: no tree uses it, and it has several values"
            )
    for tree in trees:
        yield from _midpoints(tree, columns, sanitised)


def differences(tree: Tree, rebuilt: Tree, slack: float = 0.0) -> Iterator[BrokenCondition]:
    """Yield how a rebuilt tree differs: shape, split attribute, split value, leaf value, counts; first node first.

    Leaf values of a regression may differ by ``slack``, as a share or outright.
    """
    if len(tree.nodes) != len(rebuilt.nodes):
        found = f"{len(rebuilt.leaves)} leaves instead of {len(tree.leaves)}"
        yield BrokenCondition("same tree", found)
    for old, new in zip(tree.nodes, rebuilt.nodes, strict=False):
        if (old.parent, old.children) != (new.parent, new.children):
            yield BrokenCondition("same tree", f"node {old.name!r}: another shape")
            return
        if old.test != new.test:
            yield BrokenCondition(
                "same tree", f"node {old.name!r}: {text(old.test)} became {text(new.test)}"
            )
        if not _same_score(old, new, slack) or old.class_counts != new.class_counts:
            yield BrokenCondition(
                "same tree", f"node {old.name!r}: another prediction or other counts"
            )


def _same_score(old: Node, new: Node, slack: float) -> bool:
    if isinstance(old.score, float) and isinstance(new.score, float):
        is_close = math.isclose(old.score, new.score, rel_tol=slack, abs_tol=slack)
        return is_close and old.records == new.records
    return (old.score, old.records) == (new.score, new.records)


def _in_order(column: Column, changed: Column) -> bool:
    """Whether the change is a function of the value that never turns an order round."""
    old, new = (one.keys.astype(np.float64) for one in (column, changed))
    order = np.lexsort((new, old))
    steps = np.diff(new[order])
    return bool((steps >= 0).all() and not (steps[np.diff(old[order]) == 0] > 0).any())


def _keeps(column: Column, changed: Column, choice: CategorySplit) -> bool:
    """Whether a split still tells its branches apart."""
    everything = set(categorical(column).categories)
    if choice.sides is not None:
        return _apart(column, changed, *choice.sides)
    kept = [{value} for value in everything] if choice.is_fine else [set(choice.values)]
    return all(_apart(column, changed, values, everything - values) for values in kept)


def _apart(column: Column, changed: Column, one: Set[str], second: Set[str]) -> bool:
    """Whether no new category holds records of both sets of categories."""
    return not _kept_values(column, changed, one) & _kept_values(column, changed, second)


def _kept_values(column: Column, changed: Column, values: Set[str]) -> set[int]:
    old = categorical(column)
    inside = np.array([value in values for value in old.categories])[old.codes]
    return set(categorical(changed).codes[inside].tolist())


def _midpoints(tree: Tree, columns: Columns, sanitised: Columns) -> Iterator[BrokenCondition]:
    used = {feature.name: columns[feature.name] for feature in tree.used_features()}
    rows = rows_of(tree, used, len(next(iter(columns.values()))))
    for node in tree.nodes:
        test = tree.nodes[node.children[0]].test if node.children else None
        if not isinstance(test, NumericTest):
            continue
        new = numeric(sanitised[test.feature]).numbers
        left, right = (new[rows[child]] for child in node.children)
        low, high = float(left.max()), float(right.min())
        if not low < high or threshold(low, high) != test.high:
            moved = number_text(threshold(low, high))
            yield BrokenCondition(
                "midpoint",
                f"node {node.name!r}: the middle of {test.feature!r} is {moved}, not {number_text(test.high)}",
            )


CRITERIA = {"gini": "gini", "entropy": "entropy", "variance": "squared_error"}
SEEDS = (0, 1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """One column of the matrix: an attribute's numbers, or whether its category is this one."""

    attribute: str
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Scikit:
    """DecisionTreeClassifier or DecisionTreeRegressor with ``max_leaf_nodes``; ``places`` are the columns, in order.

    Without ``places`` the columns of the table that is grown on are taken; a sanitised table must be read with those
    of the original.
    """

    criterion: str = "gini"
    min_leaf: int = 1
    min_records: int = 2
    seeds: Sequence[int] = SEEDS
    places: tuple[MatrixColumn, ...] = ()

    single: ClassVar[bool] = True
    slack: ClassVar[float] = 1e-9
    set_attributes: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"no criterion {self.criterion!r}; use {', '.join(CRITERIA)}")

    def growth(self, columns: Columns, response: Response, max_splits: int) -> ScikitGrowth:
        """Make ready to grow trees of up to so many splits.

        Raises:
            LearnerError: scikit-learn is not installed, a value is missing or no number of 32 bits, or the criterion
                does not fit the response.
        """
        if (self.criterion == "variance") is not (response.task is Task.REGRESSION):
            raise LearnerError(
                f"column {response.name!r}",
                "gini and entropy need classes, variance needs a number; choose the other",
            )
        attributes = attributes_of(columns)
        places = self.places or places_of(attributes)
        if not places:
            problem = "every attribute has only one value, so no tree can be trained"
            raise LearnerError("scikit-learn", f"{problem}; give a larger table")
        matrix = np.stack([_cells(columns[place.attribute], place) for place in places], axis=1)
        return ScikitGrowth(replace(self, places=places), columns, attributes, response, matrix)


def places_of(attributes: Sequence[LearnedAttribute]) -> tuple[MatrixColumn, ...]:
    """Return one column per number, one per pair of categories, and else one per category that a split may name."""
    matrix_columns = []
    for attribute in attributes:
        named = [value for value in attribute.categories if value != ANY]
        if attribute.distinct is not None:
            matrix_columns.append(MatrixColumn(attribute.name))
        else:
            shown = named[:1] if len(attribute.categories) == 2 else named
            matrix_columns += [MatrixColumn(attribute.name, value) for value in shown]
    return tuple(matrix_columns)


@dataclass(frozen=True, slots=True)
class ScikitGrowth:
    """A table ready for scikit-learn: ``matrix`` has shape (N, columns)."""

    learner: Scikit
    columns: Columns
    attributes: tuple[LearnedAttribute, ...]
    response: Response
    matrix: NDArray[np.float32]
    known: dict[int, Tree] = field(default_factory=dict)

    def tree(self, splits: int) -> Tree:
        """Return the tree with so many splits, fitted once per seed.

        Raises:
            LearnerError: two seeds give different trees; names both.
        """
        if splits not in self.known:
            first, *others = self.learner.seeds
            tree = self._fitted(splits, first)
            for seed in others:
                if any(differences(tree, self._fitted(splits, seed), self.learner.slack)):
                    raise LearnerError(
                        "scikit-learn",
                        f"with {splits + 1} leaves, several splits are equally good, so scikit-learn grows different "
                        f"trees for the seeds {first} and {seed}; use a larger min_leaf, fewer leaves, or the learner "
                        '"canonical"',
                    )
            self.known[splits] = tree
        return self.known[splits]

    def tied(self, splits: int) -> int:
        """Return how many splits had an equally good rival among the columns: what a seed may decide."""
        tree = self.tree(splits)
        rule = SplitRule(
            worth_of(self.learner.criterion, self.response), False, self.learner.min_leaf
        )
        rows = rows_of(tree, self.columns, len(self.matrix))
        inner = [rows[node.index] for node in tree.nodes if not node.is_leaf]
        learned_splits = [best_split(self._as_seen, self.response, own, rule) for own in inner]
        return sum(1 for split in learned_splits if split is not None and split.rivals)

    @property
    def _as_seen(self) -> tuple[LearnedAttribute, ...]:
        """The columns of the matrix, each an attribute of its own."""
        columns = {
            str(number): NumericColumn(self.matrix[:, number].astype(np.float64))
            for number in range(self.matrix.shape[1])
        }
        return attributes_of(columns)

    def _fitted(self, splits: int, seed: int) -> Tree:
        """Return the tree under one seed, in terms of the table's own columns."""
        settings: dict[str, Any] = {
            "criterion": CRITERIA[self.learner.criterion],
            "min_samples_leaf": self.learner.min_leaf,
            "min_samples_split": self.learner.min_records if splits else len(self.matrix) + 1,
            "max_leaf_nodes": max(2, splits + 1),
            "random_state": seed,
        }
        response = self.response
        kind = "DecisionTreeClassifier" if response.classes else "DecisionTreeRegressor"
        target: FloatArray | IntArray = response.values
        if not response.classes:
            target = response.values / response.per_unit
        model = getattr(_sklearn(), kind)(**settings).fit(self.matrix, target)
        names = [str(number) for number in range(self.matrix.shape[1])]
        known = [response.classes[code] for code in model.classes_] if response.classes else None
        return self._as_printed(from_sklearn(model, names, known, response.name))

    def _as_printed(self, tree: Tree) -> Tree:
        nodes = tuple(replace(node, test=self._test(node.test)) for node in tree.nodes)
        features = tuple(
            Feature(
                attribute.name,
                attribute.distinct is not None,
                attribute.categories,
                attribute.distinct is not None,
            )
            for attribute in self.attributes
        )
        return replace(tree, nodes=nodes, features=features)

    def _test(self, test: Predicate) -> Predicate:
        """Return a test on a column of the matrix as one on an attribute; above one half means: is the category."""
        if isinstance(test, Always):
            return test
        assert isinstance(test, NumericTest)
        place = self.learner.places[int(test.feature)]
        if place.category is None:
            return replace(test, feature=place.attribute)
        return CategoryTest(place.attribute, (place.category,), negated=test.high_closed)


def _cells(column: Column, place: MatrixColumn) -> NDArray[np.float32]:
    """Return one column of the matrix, shape (N,)."""
    if isinstance(column, NumericColumn):
        cells = column.numbers.astype(np.float32)
        if (cells != column.numbers).any():
            row = int(np.flatnonzero(cells != column.numbers)[0]) + 1
            raise LearnerError(
                f"column {place.attribute!r}, record {row}",
                "scikit-learn compares numbers of 32 bits, and this is none; round the column",
            )
        return cells
    if place.category not in column.categories:
        return np.zeros(len(column), dtype=np.float32)
    return np.asarray(column.codes == column.categories.index(place.category), dtype=np.float32)


def _sklearn() -> Any:  # noqa: ANN401  # an optional library without types
    try:
        return importlib.import_module("sklearn.tree")
    except ModuleNotFoundError as error:
        raise LearnerError(
            "scikit-learn",
            "is not installed; pip install 'treewarden[demo]', or choose another learner",
        ) from error
