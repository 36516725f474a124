"""Random small tables with hostile cells, and the trees that real learners grow on them: one case per kind and seed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from audit.knowledge import Knowledge
from audit.population import build_population
from ppdm_models.learn.id3 import grow_id3
from ppdm_models.predicate import CategoryTest, Column
from ppdm_models.sklearn_tree import from_sklearn
from ppdm_models.tree import Criterion, Quality, Tree

KINDS = {
    "missing": "missing cells",
    "blanked": "one cell blanked in a column that no split uses",
    "floats": "numbers that are neighbours in 32 bits",
    "labels": "leaf counts withheld, labels of inner nodes kept",
    "weights": "sampling weights",
    "ties": "ID3, which takes the first of equally good splits",
}
NAN = float("nan")
HOSTILE = (
    (1.0, 1.00000012, 1.0000002384185791, 1.0000001, 2.0),
    (0.0, 1e-7, 0.9e-7, 1.1e-7, 2e-7, -1e-7),
    (0.0, -0.0, 1e-45, 3e-45, 1e-46, -1e-45),
    (3e38, -3e38, 3.4e38, 0.0, 3.3999999e38),
    (0.1, 0.1 + 1e-12, 0.1 - 1e-12, 0.2, 0.30000000000000004, 0.3),
    (0.0, 0.9e-7, 1.8e-7, 2.7e-7, 3.6e-7, 4.5e-7),
    (16777216.0, 16777217.0, 16777218.0, 16777219.0, 16777220.0),
    (0.5, 0.5 + 5.96e-8, 0.5 + 1.192e-7, 0.5 + 1.79e-7, 0.49999997),
    (-1.0, -1.0000001192092896, -0.99999994, -0.9999999, -1.00000024),
    (2.0, 2.0 + 2.4e-7, 1.9999999, 1.9999998, 2.0000002),
)
"""Values that 32-bit numbers, or a step of 1e-7, run together or tell apart only just."""
MOST_TRIES = 200


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
    as ID3 looks at them, and is empty for scikit-learn. ``says_inner_labels``: the file gives the label of every node
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
    order: tuple[str, ...] = ()
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
        """Each record's values, so that equal ones are equal."""
        lines = zip(*self.columns.values(), strict=True)
        return [tuple(None if v is None or v != v else v for v in line) for line in lines]

    @property
    def rows(self) -> dict[str, list]:
        """The table as the product takes it."""
        found = {**self.columns, "class": [self.classes[k] for k in self.labels]}
        return found if self.weights is None else {**found, "w": list(self.weights)}


def has_sampling_weights() -> bool:
    """Return whether the product takes sampling weights yet."""
    return "sampling_weights" in inspect.signature(build_population).parameters


def draw_case(kind: str, seed: int) -> Case:
    """Return the case of a kind and seed: the first table on which a tree of the kind grows."""
    draw = np.random.default_rng([seed, 6, list(KINDS).index(kind)])
    for _ in range(MOST_TRIES):
        case = DRAWN[kind](draw)
        if case is not None:
            return replace(case, kind=kind)
    raise RuntimeError(f"no case after {MOST_TRIES} tries")


def _missing(draw: np.random.Generator) -> Case | None:
    columns = {
        name: _with_gaps(draw, values) for name, values in _numbers(draw, _size(draw)).items()
    }
    return _at_some_level(draw, _sklearn_case(draw, columns, _labels(draw, columns)))


def _blanked(draw: np.random.Generator) -> Case | None:
    columns = _numbers(draw, _size(draw), least=2)
    settings = _settings(draw)
    labels = _labels(draw, columns)
    before = _sklearn_case(draw, columns, labels, settings)
    if before is None:
        return None
    used = {node.column for node in before.nodes}
    cells = [(name, row) for name in columns if name not in used for row in range(len(labels))]
    for place in draw.permutation(len(cells)).tolist():
        name, row = cells[place]
        values = [NAN if r == row else v for r, v in enumerate(columns[name])]
        after = _sklearn_case(draw, {**columns, name: values}, labels, settings)
        if after is not None and after.tree.nodes == before.tree.nodes:
            told = _at_some_level(draw, after)
            same = {"level": told.level, "sees_truth": told.sees_truth, "kind": "blanked"}
            same |= {"knows_splits": told.knows_splits}
            return replace(told, before=replace(before, **same), blanked=name)
    return None


def _floats(draw: np.random.Generator) -> Case | None:
    size = _size(draw)
    columns = {}
    for place in range(int(draw.integers(1, 4))):
        pool = HOSTILE[int(draw.integers(len(HOSTILE)))] if draw.random() < 0.8 else (0.0, 1.0, 2.0)
        columns[f"x{place}"] = draw.choice(pool, size=size).tolist()
    if draw.random() < 0.15:
        columns["x0"] = _with_gaps(draw, columns["x0"])
    return _at_some_level(draw, _sklearn_case(draw, columns, _labels(draw, columns)))


def _withheld(draw: np.random.Generator) -> Case | None:
    is_id3 = draw.random() < 0.3
    columns = _texts(draw, _size(draw)) if is_id3 else _numbers(draw, _size(draw))
    labels = _labels(draw, columns)
    case = (_id3_case if is_id3 else _sklearn_case)(draw, columns, labels)
    if case is None:
        return None
    says_records = draw.random() < 0.5
    nodes = tuple(
        replace(
            node,
            class_counts=None,
            class_shares=None,
            records=node.records if says_records else None,
        )
        for node in case.tree.nodes
    )
    quality = Quality.EXACT if says_records else Quality.ABSENT
    return replace(
        case,
        tree=replace(case.tree, nodes=nodes, quality=quality),
        level="labels",
        says_inner_labels=True,
        knows_splits=bool(draw.random() < 0.7),
        sees_truth=bool(draw.random() < 0.7),
    )


def _weighted(draw: np.random.Generator) -> Case | None:
    columns = _numbers(draw, min(_size(draw), 8))
    labels = _labels(draw, columns)
    pool = ((1.0, 2.0), (1.0, 2.0, 3.0, 5.0), (0.5, 1.5, 2.25), (1.0, 10.0))[int(draw.integers(4))]
    weights = draw.choice(pool, size=len(labels)).tolist()
    case = _sklearn_case(draw, columns, labels, weights=weights)
    return None if case is None else replace(case, sees_truth=bool(draw.random() < 0.8))


def _id3(draw: np.random.Generator) -> Case | None:
    columns = _texts(draw, _size(draw))
    if draw.random() < 0.3:
        name = f"x{draw.integers(len(columns))}"
        columns[name] = _with_gaps(draw, columns[name])
    return _at_some_level(draw, _id3_case(draw, columns, _labels(draw, columns)))


def _size(draw: np.random.Generator) -> int:
    return int(draw.choice([4, 5, 6, 7, 8, 9, 10], p=[0.15, 0.2, 0.2, 0.15, 0.15, 0.1, 0.05]))


def _numbers(draw: np.random.Generator, size: int, least: int = 1) -> dict[str, list]:
    names = [f"x{place}" for place in range(int(draw.integers(least, 4)))]
    return {name: draw.integers(draw.integers(2, 5), size=size) * 1.0 for name in names}


def _texts(draw: np.random.Generator, size: int) -> dict[str, list]:
    return {
        name: [f"v{int(v)}" for v in values]
        for name, values in _numbers(draw, size, least=2).items()
    }


def _with_gaps(draw: np.random.Generator, values: Sequence) -> list:
    """Return a column with some cells missing, sometimes none and sometimes all."""
    share = float(draw.choice([0.0, 0.2, 0.4, 0.7, 1.0], p=[0.3, 0.3, 0.25, 0.1, 0.05]))
    nothing = None if isinstance(values[0], str) else NAN
    return [nothing if draw.random() < share else value for value in values]


def _labels(draw: np.random.Generator, columns: dict[str, list]) -> tuple[int, ...]:
    """Return classes: random, or driven by a column and some noise."""
    size = len(columns["x0"])
    classes = 3 if size <= 7 and draw.random() < 0.2 else 2
    driver = [str(value) for value in columns[f"x{draw.integers(len(columns))}"]]
    code = np.unique(driver, return_inverse=True)[1].reshape(-1) % classes
    noise = draw.random(size) < draw.choice([0.0, 0.3, 1.0])
    labels = np.where(noise, draw.integers(classes, size=size), code)
    labels[draw.choice(size, size=classes, replace=False)] = np.arange(classes)
    return tuple(labels.tolist())


def _at_some_level(draw: np.random.Generator, case: Case | None) -> Case | None:
    if case is None:
        return None
    return replace(
        case,
        level=str(draw.choice(["counts", "counts", "counts", "rates", "labels"])),
        knows_splits=bool(draw.random() < 0.9),
        sees_truth=bool(draw.random() < 0.7),
    )


def _settings(draw: np.random.Generator) -> dict:
    return {
        "criterion": str(draw.choice(["gini", "entropy"])),
        "max_depth": int(draw.integers(1, 4)),
        "min_samples_leaf": int(draw.choice([1, 1, 2, 3])),
        "random_state": int(draw.integers(100)),
    }


def _sklearn_case(
    draw: np.random.Generator,
    columns: dict[str, list],
    labels: tuple[int, ...],
    settings: dict | None = None,
    weights: list[float] | None = None,
) -> Case | None:
    """Return the case of scikit-learn's tree; None where it is a root alone."""
    settings = settings or _settings(draw)
    names = list(columns)
    table = np.stack([np.array(columns[name], dtype=float) for name in names], axis=1)
    classes = tuple(f"c{k}" for k in range(len(set(labels))))

    def fit(given: Sequence[int]) -> DecisionTreeClassifier:
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
        grows=lambda given: _same(fit(given), model),
        criterion=settings["criterion"],
        min_leaf=settings["min_samples_leaf"],
        weights=None if weights is None else tuple(weights),
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


def _id3_case(
    draw: np.random.Generator, columns: dict[str, list], labels: tuple[int, ...]
) -> Case | None:
    """Return the case of our own ID3's tree; None where it is a root alone."""
    criterion, smallest = str(draw.choice(["gini", "entropy"])), float(draw.integers(2, 5))
    classes = tuple(f"c{k}" for k in range(len(set(labels))))
    coded = {name: _coded(values) for name, values in columns.items()}

    def grow(given: Sequence[int]) -> Tree:
        masses = np.eye(len(classes))[list(given)]
        by = Criterion(criterion)
        return grow_id3(coded, masses, classes, criterion=by, min_records=smallest)

    tree = grow(labels)
    if len(tree.nodes) == 1:
        return None
    tests = [(node.parent, node.test) for node in tree.nodes]
    return Case(
        kind="",
        columns=columns,
        labels=labels,
        classes=classes,
        tree=tree,
        nodes=_id3_nodes(tree, columns),
        grows=lambda given: [(node.parent, node.test) for node in grow(given).nodes] == tests,
        criterion=criterion,
        order=tuple(columns),
    )


def _coded(values: list) -> Column:
    known = tuple(sorted({value for value in values if value is not None}))
    codes = [-1 if value is None else known.index(value) for value in values]
    return Column(codes=np.array(codes, dtype=np.int64), categories=known)


def _id3_nodes(tree: Tree, columns: dict[str, list]) -> tuple[Node, ...]:
    """Return the nodes, people sent to them by the one category that each branch names."""
    size = len(next(iter(columns.values())))
    inside = [np.ones(size, dtype=bool)]
    above: list[tuple[str, ...]] = [()]
    for node in tree.nodes[1:]:
        assert isinstance(node.test, CategoryTest)
        is_value = np.array([value in node.test.values for value in columns[node.test.feature]])
        inside.append(inside[node.parent] & is_value)
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


DRAWN = {
    "missing": _missing,
    "blanked": _blanked,
    "floats": _floats,
    "labels": _withheld,
    "weights": _weighted,
    "ties": _id3,
}
