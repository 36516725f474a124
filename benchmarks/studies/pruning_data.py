"""The public data sets of the pruning study, parted at random, their trees and hierarchies of values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.taxonomy import Categories, Taxonomy
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, NoTrueChild, Tree

INTERVALS = 8


@dataclass(frozen=True)
class Set:
    """One data set: its file, the column that is learnt, and columns left out."""

    file: str
    target: str
    leave_out: tuple[str, ...] = ()


SETS = {
    "adult": Set("adult_train.csv", "income", ("fnlwgt", "education-num")),
    "nursery": Set("nursery.csv", "class"),
    "car": Set("car.csv", "class"),
    "cmc": Set("cmc.csv", "contraceptive_method"),
    "german": Set("german_credit.csv", "class"),
    "heart": Set("heart_cleveland.csv", "num"),
    "breast": Set("breast_cancer.csv", "class"),
}


@dataclass(frozen=True, eq=False)
class Records:
    """Records by column, and the code of each one's class."""

    columns: dict[str, Column]
    target: np.ndarray
    classes: tuple[str, ...]

    def take(self, rows: np.ndarray) -> Records:
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Records(columns, self.target[rows], self.classes)


@dataclass(frozen=True, eq=False)
class Part:
    """The records learnt from, and the others."""

    learnt: Records
    other: Records


def whole(folder: Path, name: str) -> Records:
    """Return the records of a data set that lack no value."""
    said = SETS[name]
    raw = read_table(folder / said.file)
    names = [c for c in raw.columns if c != said.target and c not in said.leave_out]
    columns = {each: raw.column(raw.guessed(each)) for each in names}
    target = raw.column(Feature(said.target, numeric=False))
    complete = ~np.any([column.missing for column in (*columns.values(), target)], axis=0)
    return Records(columns, target.codes, target.categories).take(np.flatnonzero(complete))


def parts(everyone: Records, runs: int) -> Iterator[Part]:
    """Yield so many random partings, two thirds learnt from."""
    size = len(everyone.target)
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(size)
        cut = 2 * size // 3
        yield Part(everyone.take(np.sort(order[:cut])), everyone.take(np.sort(order[cut:])))


@cache
def grown(part: Part) -> tuple[Tree, Tree]:
    """Return ID3's tree with its intervals as numbers, and the same with every branch a name without neighbours."""
    edges = {
        name: _edges(column.numbers)
        for name, column in part.learnt.columns.items()
        if isinstance(column, NumericColumn)
    }
    columns = {
        name: _interval_names(column, edges[name]) if name in edges else column
        for name, column in part.learnt.columns.items()
    }
    masses = np.eye(len(part.learnt.classes))[part.learnt.target]
    plain = grow_id3(columns, masses, part.learnt.classes)
    nodes = [
        replace(node, test=_numeric(node.test, edges))
        if isinstance(node.test, CategoryTest) and node.test.feature in edges
        else node
        for node in plain.nodes
    ]
    features = tuple(
        Feature(feature.name, True) if feature.name in edges else feature
        for feature in plain.features
    )
    tree = replace(
        plain,
        nodes=tuple(nodes),
        features=features,
        no_true_child=NoTrueChild.LAST_PREDICTION,
    )
    return tree, plain


def hierarchies(part: Part) -> dict[str, Taxonomy]:
    """Return each category's hierarchy: its values in alphabetical order, halved again and again."""
    return {
        name: Categories(name, _halved(column.categories))
        for name, column in part.learnt.columns.items()
        if isinstance(column, CategoricalColumn)
    }


def _halved(values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    height = max(int(np.ceil(np.log2(max(len(values), 2)))), 1)
    width = 2**height
    paths = {}
    for place, value in enumerate(values):
        slot = place * width // len(values)
        groups = (f"{level}:{slot >> level}" for level in range(1, height))
        paths[value] = (value, *groups, "*")
    return paths


def _edges(numbers: np.ndarray) -> np.ndarray:
    inner = np.quantile(numbers, np.arange(1, INTERVALS) / INTERVALS, method="lower")
    return np.unique(inner[inner < numbers.max()])


def _interval_names(column: Column, edges: np.ndarray) -> Column:
    names = tuple(f"i{place}" for place in range(len(edges) + 1))
    return CategoricalColumn(
        codes=np.searchsorted(edges, column.numbers, side="left"), categories=names
    )


def _numeric(test: CategoryTest, edges: dict[str, np.ndarray]) -> NumericTest:
    """Return the test for the interval that a name stands for: above one edge, and not above the next."""
    ends = [-np.inf, *edges[test.feature].tolist(), np.inf]
    place = int(test.values[0][1:])
    low, high = ends[place], ends[place + 1]
    return NumericTest(test.feature, low, high, high_closed=np.isfinite(high))
