"""Trees that real learners grow on small tables, and all that a judge needs to try the learner on other labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.learn.growers import BestFirst, grow_id3
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import Criterion, Tree


@dataclass(frozen=True)
class Node:
    """A node as the learner made it: who is inside (n,), each one's side (-1 outside), and its most frequent class.

    ``column`` is "" at a leaf; ``above`` are the columns of the splits on the way.
    """

    inside: np.ndarray
    label: int
    column: str = ""
    sides: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    above: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A table, the tree that a learner grew on it, and what the adversary knows of the tree.

    ``columns`` hold numbers (NaN: missing) or texts (None: missing), ``labels`` each record's class. ``grows`` says
    whether the learner, with the very same settings, grows the same tree on other labels. ``order`` names the columns
    as ID3 looks at them, and is empty for others. ``is_defined``: the judges know every candidate that was compared.
    ``weights`` are by record, ``class_weights`` by class. ``says_inner_labels``: the file gives the label of every node
    and no class counts. ``before`` is the table before a cell of ``blanked`` was blanked.
    """

    kind: str
    columns: dict[str, list]
    labels: tuple[int, ...]
    classes: tuple[str, ...]
    tree: Tree
    nodes: tuple[Node, ...]
    grows: Callable[[np.ndarray], bool]
    criterion: str
    level: str = "counts"
    knows_splits: bool = True
    sees_truth: bool = True
    min_leaf: int = 1
    weights: tuple[float, ...] | None = None
    class_weights: tuple[float, ...] | None = None
    order: tuple[str, ...] = ()
    is_defined: bool = True
    says_inner_labels: bool = False
    before: Case | None = None
    blanked: str = ""

    @property
    def knowledge(self) -> Knowledge:
        """What the adversary knows, as the product takes it."""
        is_whole = self.level == "counts" or self.says_inner_labels
        return Knowledge(
            leaf="as-published" if is_whole else self.level,
            split="as-published" if self.knows_splits else "none",
        )

    @property
    def profiles(self) -> list[tuple]:
        """Each record's values (and sampling weight), so that equal ones are equal."""
        more = () if self.weights is None else (self.weights,)
        lines = zip(*self.columns.values(), *more, strict=True)
        return [tuple(None if v is None or v != v else v for v in line) for line in lines]

    @property
    def rows(self) -> dict[str, list]:
        """The table as the product takes it."""
        found = {**self.columns, "class": [self.classes[k] for k in self.labels]}
        return found if self.weights is None else {**found, "w": list(self.weights)}


def sklearn_case(
    columns: dict[str, list],
    labels: tuple[int, ...],
    settings: dict,
    weights: list[float] | None = None,
) -> Case | None:
    """Return the case of scikit-learn's tree; None where it is a root alone."""
    names = list(columns)
    table = np.stack([np.array(columns[name], dtype=float) for name in names], axis=1)
    classes = tuple(f"c{k}" for k in range(len(set(labels))))

    def fit(given: Sequence[int]) -> DecisionTreeClassifier:
        with np.errstate(over="ignore", invalid="ignore"):  # sums of the largest 32-bit numbers
            return DecisionTreeClassifier(**settings).fit(table, given, sample_weight=weights)

    model = fit(labels)
    if model.tree_.node_count == 1:
        return None
    return Case(
        kind="",
        columns={name: list(map(float, values)) for name, values in columns.items()},
        labels=labels,
        classes=classes,
        tree=from_sklearn(model, feature_names=names, class_names=classes),
        nodes=_sklearn_nodes(model, table, names),
        is_defined=not (
            weights or settings.get("class_weight") or np.any(settings.get("monotonic_cst") or 0)
        ),
        grows=lambda given: _same(fit(given), model),
        criterion=settings["criterion"],
        min_leaf=settings["min_samples_leaf"],
        weights=None if weights is None else tuple(weights),
        class_weights=tuple(settings["class_weight"].values())
        if "class_weight" in settings
        else None,
    )


def _same(one: DecisionTreeClassifier, other: DecisionTreeClassifier) -> bool:
    said = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left")
    return all(
        np.array_equal(getattr(one.tree_, what), getattr(other.tree_, what)) for what in said
    )


def _sklearn_nodes(
    model: DecisionTreeClassifier, table: np.ndarray, names: list[str]
) -> tuple[Node, ...]:
    """Return the nodes in scikit-learn's order, people sent to them by scikit-learn itself."""
    state, paths = model.tree_, model.decision_path(table).toarray().astype(bool)
    found = []
    for place in range(state.node_count):
        label, left = int(state.value[place, 0].argmax()), state.children_left[place]
        inside = paths[:, place]
        if left < 0:
            found.append(Node(inside, label))
            continue
        sides = np.where(inside, np.where(paths[:, left], 0, 1), -1)
        found.append(Node(inside, label, names[state.feature[place]], sides))
    return tuple(found)


def id3_case(
    columns: dict[str, list], labels: tuple[int, ...], criterion: str, smallest: float
) -> Case | None:
    """Return the case of our own ID3's tree; None where it is a root alone, or ID3 refuses missing values."""
    classes = tuple(f"c{k}" for k in range(len(set(labels))))
    coded = {name: _coded(values) for name, values in columns.items()}

    def grow(given: Sequence[int]) -> Tree:
        masses = np.eye(len(classes))[list(given)]
        by = Criterion(criterion)
        return grow_id3(coded, masses, classes, criterion=by, min_records=smallest)

    try:
        return _own_case(grow, columns, labels, criterion, order=tuple(columns))
    except ValueError:
        return None


def best_first_case(
    columns: dict[str, list], labels: tuple[int, ...], learner: BestFirst, splits: int
) -> Case | None:
    """Return the case of the canonical learner's tree of so many splits; None where it is a root alone."""
    classes = tuple(f"c{k}" for k in range(len(set(labels))))
    coded = {name: _coded(values) for name, values in columns.items()}

    def grow(given: Sequence[int]) -> Tree:
        response = of_classes("class", np.array(given), classes)
        return learner.growth(coded, response, splits).tree(splits)

    return _own_case(grow, columns, labels, learner.criterion, is_defined=False)


def _own_case(
    grow: Callable[[Sequence[int]], Tree],
    columns: dict[str, list],
    labels: tuple[int, ...],
    criterion: str,
    order: tuple[str, ...] = (),
    is_defined: bool = True,
) -> Case | None:
    tree = grow(labels)
    tests = [(node.parent, node.test) for node in tree.nodes]
    if len(tests) == 1:
        return None
    return Case(
        kind="",
        columns=columns,
        labels=labels,
        classes=tree.classes,
        tree=tree,
        nodes=_own_nodes(tree, columns),
        grows=lambda given: [(node.parent, node.test) for node in grow(given).nodes] == tests,
        criterion=criterion,
        order=order,
        is_defined=is_defined,
    )


def _coded(values: list) -> Column:
    if not any(isinstance(value, str) for value in values if value is not None):
        return NumericColumn(np.array(values, dtype=float))
    known = tuple(sorted({value for value in values if value is not None}))
    codes = [-1 if value is None else known.index(value) for value in values]
    return CategoricalColumn(codes=np.array(codes, dtype=np.int64), categories=known)


def _own_nodes(tree: Tree, columns: dict[str, list]) -> tuple[Node, ...]:
    """Return the nodes, people sent to them by the tests that our own learners write."""
    size = len(next(iter(columns.values())))
    inside = [np.ones(size, dtype=bool)]
    above: list[tuple[str, ...]] = [()]
    for node in tree.nodes[1:]:
        inside.append(inside[node.parent] & _passes(node.test, columns))
        above.append((*above[node.parent], node.test.feature))
    found = []
    for node, here, names in zip(tree.nodes, inside, above, strict=True):
        label = tree.classes.index(node.score)
        sides = np.full(size, -1)
        for branch, child in enumerate(node.children):
            sides[inside[child]] = branch
        column = above[node.children[0]][-1] if node.children else ""
        found.append(Node(here, label, column, sides, names))
    return tuple(found)


def _passes(test: Predicate, columns: dict[str, list]) -> np.ndarray:
    """Return which records pass a test."""
    if isinstance(test, CategoryTest):
        values = columns[test.feature]
        return np.array([(value in test.values) is not test.negated for value in values])
    assert isinstance(test, NumericTest)
    numbers = np.array(columns[test.feature])
    return (numbers > test.low) & (numbers <= test.high)
