"""A small CART: binary splits on thresholds and on sets of categories, so that tables of both kinds can be tried."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.ppdm_models.tree.column import Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Tree, rebuilt


def grow_binary(
    columns: Columns,
    masses: np.ndarray,
    classes: tuple[str, ...],
    *,
    criterion: Criterion,
    min_leaf: int,
    min_records: float,
) -> Tree:
    """Grow a binary tree; every threshold and every set of the categories present is a candidate, ties to the first."""
    features = tuple(
        Feature(name, numeric=True)
        if isinstance(column, NumericColumn)
        else Feature(name, numeric=False, values=column.categories)
        for name, column in columns.items()
    )
    nodes: list[Node] = []

    def grow(inside: np.ndarray, parent: int | None, test: Predicate) -> int:
        counts, number = masses[inside].sum(axis=0), len(nodes)
        score = classes[int(counts.argmax())]
        nodes.append(
            Node(number, str(number), parent, (), test, score, counts.sum(), tuple(counts.tolist()))
        )
        best = None
        least = impurity(criterion, counts) - 1e-9 * counts.sum()
        for left, tests in _candidates(columns, inside):
            sides = masses[inside[left]].sum(axis=0), masses[inside[~left]].sum(axis=0)
            if min(side.sum() for side in sides) < min_leaf:
                continue
            after = sum(impurity(criterion, side) for side in sides)
            if after < least:
                best, least = (left, tests), after
        if best is not None and counts.sum() >= min_records:
            left, tests = best
            children = (
                grow(inside[left], number, tests[0]),
                grow(inside[~left], number, tests[1]),
            )
            nodes[number] = Node(
                number, str(number), parent, children, test, score, counts.sum(), tuple(counts)
            )
        return number

    grow(np.arange(len(masses)), None, Always())
    learner = Learner(
        criterion, min_leaf_records=min_leaf, multiway=False, tool=Tool.TREEWARDEN, sets=True
    )
    tree = Tree(tuple(nodes), features, "class", classes, learner=learner, source="cart")
    return rebuilt(tree, tree.nodes)


def impurity(criterion: Criterion, counts: np.ndarray) -> float:
    """Return n * I of one branch."""
    total = counts.sum()
    share = counts[counts > 0] / total
    if criterion is Criterion.GINI:
        return float(total * (1 - (share**2).sum()))
    return float(-total * (share * np.log(share)).sum())


def _candidates(
    columns: Columns, inside: np.ndarray
) -> Iterator[tuple[np.ndarray, tuple[Predicate, Predicate]]]:
    for name, column in columns.items():
        yield from (_thresholds if isinstance(column, NumericColumn) else _sets)(
            name, column, inside
        )


def _thresholds(
    name: str, column: Column, inside: np.ndarray
) -> Iterator[tuple[np.ndarray, tuple[Predicate, Predicate]]]:
    here = column.numbers[inside]
    found = np.unique(here)
    for cut in (found[:-1] + found[1:]) / 2:
        yield (
            here <= cut,
            (NumericTest(name, high=cut, high_closed=True), NumericTest(name, low=cut)),
        )


def _sets(
    name: str, column: Column, inside: np.ndarray
) -> Iterator[tuple[np.ndarray, tuple[Predicate, Predicate]]]:
    here = column.codes[inside]
    found = np.unique(here)
    for number in range(1, 2 ** (len(found) - 1)):
        taken = [code for bit, code in enumerate(found) if number >> bit & 1]
        rest = [code for code in found if code not in taken]
        tests = tuple(
            CategoryTest(name, tuple(column.categories[code] for code in side))
            for side in (taken, rest)
        )
        yield np.isin(here, taken), tests
