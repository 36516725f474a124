"""The conditions under which the same tree grows from sanitised records, each checked on the records themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.learn.splits import threshold
from treewarden.ppdm_models.methods.tpp.cells import CategorySplit, SplitsByAttribute, rows_of
from treewarden.ppdm_models.tree.column import Column, Columns, categorical, number_text, numeric
from treewarden.ppdm_models.tree.predicate import NumericTest, text
from treewarden.ppdm_models.tree.tree import Node, Tree

CONDITIONS = ("same categories", "order", "midpoint", "unused constant", "same tree")


@dataclass(frozen=True, slots=True)
class BrokenCondition:
    """A condition that does not hold, and where."""

    condition: str
    words: str


def problems(
    columns: Columns, sanitised: Columns, trees: Sequence[Tree], asked: SplitsByAttribute
) -> Iterator[BrokenCondition]:
    """Yield where sanitised attributes break a condition of the theorem (2 and 3, rebuilt from its proof).

    The response is not among the attributes and never changes (condition 1).
    """
    for name, column in columns.items():
        changed = sanitised[name]
        if name in asked.cuts:
            if not _in_order(column, changed):
                yield BrokenCondition("order", f"{name!r}: two values change places")
        elif name in asked.choices:
            for choice in asked.choices[name]:
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


def _apart(column: Column, changed: Column, one: Set[str], other: Set[str]) -> bool:
    """Whether no new category holds records of both sets of categories."""
    return not _kept_values(column, changed, one) & _kept_values(column, changed, other)


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
