"""What trees ask of each attribute of a table: the cuts of numbers, and the categories that are told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns, categorical, numeric
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, answer
from treewarden.ppdm_models.tree.tree import Node, Tree


@dataclass(frozen=True, slots=True)
class Cut:
    """A split on a number: its threshold, and the nearest of the node's own records on either side."""

    node: str
    threshold: float
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class Choice:
    """A split on categories: the values that are named at it, and whether every value must stay apart from the others.

    ``sides`` are, where the split may be any two sets, the values of the node's own records to the left and right.
    """

    node: str
    values: tuple[str, ...]
    is_fine: bool
    sides: tuple[frozenset[str], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The splits of several trees by attribute; an attribute that no tree uses is in neither."""

    cuts: Mapping[str, tuple[Cut, ...]]
    choices: Mapping[str, tuple[Choice, ...]]


def rows_of(tree: Tree, columns: Columns, size: int) -> list[IndexArray]:
    """Return the records of each node, by node index."""
    rows = [np.arange(size, dtype=np.intp)] * len(tree.nodes)
    for node in tree.nodes[1:]:
        assert node.parent is not None
        above = rows[node.parent]
        here = {name: column.take(above) for name, column in columns.items()}
        rows[node.index] = above[answer(node.test, here, len(above)).true]
    return rows


def asked(
    trees: Sequence[Tree], columns: Columns, size: int, sets: Sequence[Sequence[str]] = ()
) -> Asked:
    """Return what the trees ask of a table of ``size`` records; ``sets`` are the attributes that each parts by sets.

    Where only some trees do, merged values would be new to the others, so that none are merged.

    Raises:
        ValueError: a tree splits in a way that no learner here does.
    """
    cuts: dict[str, list[Cut]] = {}
    choices: dict[str, list[Choice]] = {}
    for tree in trees:
        used = {feature.name for feature in tree.used_features()}
        rows = rows_of(tree, {name: columns[name] for name in used}, size)
        for node in tree.nodes:
            if node.is_leaf:
                continue
            test = tree.nodes[node.children[0]].test
            if isinstance(test, NumericTest):
                numbers = numeric(columns[test.feature]).numbers
                left, right = (numbers[rows[child]] for child in node.children)
                found = Cut(node.name, test.high, float(left.max()), float(right.min()))
                cuts.setdefault(test.feature, []).append(found)
            else:
                name, choice = _choice(tree, node)
                if any(name in own for own in sets):
                    sides = [
                        _values(categorical(columns[name]), rows[child]) for child in node.children
                    ]
                    is_shared = all(name in own for own in sets)
                    both = (sides[0], sides[1]) if is_shared else None
                    choice = replace(choice, is_fine=not is_shared, sides=both)
                choices.setdefault(name, []).append(choice)
    return Asked(
        {name: tuple(found) for name, found in cuts.items()},
        {name: tuple(found) for name, found in choices.items()},
    )


def _choice(tree: Tree, node: Node) -> tuple[str, Choice]:
    tests = [tree.nodes[child].test for child in node.children]
    named = [test for test in tests if isinstance(test, CategoryTest)]
    if len(named) < len(tests) or len({test.feature for test in named}) > 1:
        raise ValueError(f"node {node.name!r} does not split on the categories of one attribute")
    values = tuple(value for test in named if not test.negated for value in test.values)
    return named[0].feature, Choice(
        node.name, values, is_fine=not any(test.negated for test in named)
    )


def _values(column: CategoricalColumn, rows: IndexArray) -> frozenset[str]:
    return frozenset(column.categories[code] for code in np.unique(column.codes[rows]))
