"""The five kinds of global model: from scikit-learn where it has them, small stand-ins where it has not."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from benchmarks.studies.pruning_data import Records
from treewarden.ppdm_models.methods.generalise.lattice import grouped
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns, NumericColumn

MIN_LEAF = 5
FOREST = 10
RULE_TESTS = 3


class Model(Protocol):
    """Learns from records when it is made, and gives others a class."""

    def predict(self, columns: Columns) -> np.ndarray:
        """Return the code of each record's class."""


class DecisionTree:
    """scikit-learn's tree by entropy, leaves of 5 records or more, one column of zeros and ones per category."""

    def __init__(self, learnt: Records) -> None:
        self.fitted = DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=MIN_LEAF, random_state=0
        ).fit(matrix(learnt.columns), learnt.target)
        self.learnt = learnt

    def predict(self, columns: Columns) -> np.ndarray:
        return self.fitted.predict(matrix(columns))

    @cached_property
    def paths(self) -> set[tuple[object, ...]]:
        """Each path as its class and the interval of every attribute that it tests, in the order of the tests."""
        tree, names = self.fitted.tree_, _names(self.learnt.columns)
        tests = list(zip(tree.children_left.tolist(), tree.children_right.tolist(), strict=True))
        tested, cuts = tree.feature.tolist(), tree.threshold.tolist()
        said = self.fitted.classes_[tree.value[:, 0, :].argmax(axis=1)].tolist()
        found: set[tuple[object, ...]] = set()
        waiting: list[tuple[int, dict[str, tuple[float, float]]]] = [(0, {})]
        while waiting:
            node, held = waiting.pop()
            left, right = tests[node]
            if left < 0:
                found.add((self.learnt.classes[said[node]], *held.items()))
                continue
            name, cut = names[tested[node]], cuts[node]
            low, high = held.get(name, (-np.inf, np.inf))
            waiting.append((left, {**held, name: (low, min(high, cut))}))
            waiting.append((right, {**held, name: (max(low, cut), high)}))
        return found


class Forest:
    """scikit-learn's random forest of ten trees."""

    def __init__(self, learnt: Records) -> None:
        self.fitted = RandomForestClassifier(n_estimators=FOREST, random_state=0)
        self.fitted.fit(matrix(learnt.columns), learnt.target)

    def predict(self, columns: Columns) -> np.ndarray:
        return self.fitted.predict(matrix(columns))


class NaiveBayes:
    """scikit-learn's naive Bayes: counts for categories, a normal distribution for each number, multiplied."""

    def __init__(self, learnt: Records) -> None:
        codes, numbers = _apart(learnt.columns)
        widths = [
            len(c.categories) for c in learnt.columns.values() if isinstance(c, CategoricalColumn)
        ]
        self.named = CategoricalNB(min_categories=widths).fit(codes, learnt.target)
        self.normal = GaussianNB().fit(numbers, learnt.target) if numbers.shape[1] else None

    def predict(self, columns: Columns) -> np.ndarray:
        codes, numbers = _apart(columns)
        logs = self.named.predict_joint_log_proba(codes)
        if self.normal is not None:
            # Both hold the class's own share; it counts once.
            logs = logs + self.normal.predict_joint_log_proba(numbers) - self.named.class_log_prior_
        return self.named.classes_[np.argmax(logs, axis=1)]


class OneRule:
    """Stand-in for a conjunctive rule: up to three tests, one class where all hold and one where not.

    Of all nodes of a tree of depth three the one whose path, as a rule, is right most often; of equals the shortest.
    """

    def __init__(self, learnt: Records) -> None:
        x = matrix(learnt.columns)
        self.tree = DecisionTreeClassifier(
            criterion="entropy", max_depth=RULE_TESTS, min_samples_leaf=MIN_LEAF, random_state=0
        ).fit(x, learnt.target)
        inside = self.tree.decision_path(x).toarray().astype(bool)
        size = len(learnt.classes)
        held = np.array([np.bincount(learnt.target[rows], minlength=size) for rows in inside.T])
        rest = np.bincount(learnt.target, minlength=size) - held
        right = held.max(axis=1) + rest.max(axis=1)
        self.node = min(range(len(right)), key=lambda n: (-right[n], -held[n].sum(), n))
        self.classes = int(held[self.node].argmax()), int(rest[self.node].argmax())

    def predict(self, columns: Columns) -> np.ndarray:
        inside = self.tree.decision_path(matrix(columns)).toarray()[:, self.node].astype(bool)
        return np.where(inside, *self.classes)


class DecisionTable:
    """Stand-in for a decision table: the attributes that are right most often, each record left out in turn.

    Numbers are cut at their quartiles; a record that no row of the table matches gets the most common class.
    """

    def __init__(self, learnt: Records) -> None:
        self.learnt = learnt
        self.edges = {
            name: np.quantile(column.numbers, [0.25, 0.5, 0.75])
            for name, column in learnt.columns.items()
            if isinstance(column, NumericColumn)
        }
        self.common = int(np.bincount(learnt.target).argmax())
        self.codes = self._codes(learnt.columns)
        self.chosen = self._chosen()

    def predict(self, columns: Columns) -> np.ndarray:
        others = self._codes(columns)
        known, size = len(self.learnt.target), len(next(iter(others.values())))
        both = [np.concatenate([self.codes[name], others[name]]) for name in self.chosen]
        group = grouped(both, known + size)
        counts = _counts(group[:known], self.learnt, int(group.max()) + 1)
        said = np.where(counts.any(axis=1), counts.argmax(axis=1), self.common)
        return said[group[known:]]

    def _chosen(self) -> list[str]:
        """Return the best of the tables that arise when the best attribute is added, one after the other."""
        chosen: list[str] = []
        tables = [(self._right(chosen), 0)]
        while len(chosen) < len(self.codes):
            rest = [name for name in self.codes if name not in chosen]
            right = [self._right([*chosen, name]) for name in rest]
            chosen.append(rest[right.index(max(right))])
            tables.append((max(right), len(chosen)))
        best = max(tables, key=lambda table: (table[0], -table[1]))
        return chosen[: best[1]]

    def _right(self, names: list[str]) -> int:
        """Return how many records a table without them gives their class."""
        group = grouped([self.codes[name] for name in names], len(self.learnt.target))
        counts = _counts(group, self.learnt, int(group.max()) + 1)
        falling = -np.sort(-counts, axis=1)
        others = np.where(counts == falling[:, :1], falling[:, 1:2], falling[:, :1])
        alone = (counts.sum(axis=1) == 1)[:, None] & (np.arange(counts.shape[1]) == self.common)
        return int(counts[(counts - 1 > others) | alone].sum())

    def _codes(self, columns: Columns) -> dict[str, np.ndarray]:
        return {
            name: column.codes
            if isinstance(column, CategoricalColumn)
            else np.searchsorted(self.edges[name], column.numbers).astype(np.int64)
            for name, column in columns.items()
        }


MODELS: dict[str, type[Model]] = {
    "decision tree": DecisionTree,
    "naive Bayes": NaiveBayes,
    "conjunctive rule (stand-in)": OneRule,
    "decision table (stand-in)": DecisionTable,
    "random forest": Forest,
}


def matrix(columns: Columns) -> np.ndarray:
    """Return numbers as they are, and one column of zeros and ones per category (one for two categories)."""
    parts = []
    for column in columns.values():
        if isinstance(column, NumericColumn):
            parts.append(column.numbers[:, None].astype(np.float32))
        else:
            parts.append(column.codes[:, None] == np.arange(_width(column.categories)))
    return np.concatenate([part.astype(np.float32) for part in parts], axis=1)


def _width(categories: tuple[str, ...]) -> int:
    return 1 if len(categories) == 2 else len(categories)


def _names(columns: Columns) -> list[str]:
    return [
        label
        for name, column in columns.items()
        for label in (
            [name]
            if isinstance(column, NumericColumn)
            else [f"{name}={value}" for value in column.categories[: _width(column.categories)]]
        )
    ]


def _apart(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of the categories and the numbers, shapes (N, attributes)."""
    size = len(next(iter(columns.values())))
    codes = [column.codes for column in columns.values() if isinstance(column, CategoricalColumn)]
    numbers = [column.numbers for column in columns.values() if isinstance(column, NumericColumn)]
    return (
        np.stack(codes, axis=1) if codes else np.zeros((size, 0), dtype=np.int64),
        np.stack(numbers, axis=1) if numbers else np.zeros((size, 0)),
    )


def _counts(group: np.ndarray, learnt: Records, groups: int) -> np.ndarray:
    width = len(learnt.classes)
    cells = np.bincount(group * width + learnt.target, minlength=groups * width)
    return cells.reshape(groups, width)
