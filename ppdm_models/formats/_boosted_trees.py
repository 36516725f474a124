"""What the files of boosted trees have in common: columns of numbers, nodes from columns, counts that add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from ppdm_models import limits
from ppdm_models.consistency import contradictions
from ppdm_models.ensemble import Ensemble, Model
from ppdm_models.errors import OutputError, TreeFormatError
from ppdm_models.formats._json import Steps, as_list, refused
from ppdm_models.predicate import NumericTest, Predicate
from ppdm_models.tree import Feature, Missing, Node, Quality, Task, Tree

Numbers = NDArray[np.float64]
Wholes = NDArray[np.int64]

LEAF = -1
"""What stands for "no child" in a column of children."""


@dataclass(slots=True)
class Columns:
    """The nodes of one tree as columns, each parent before its children; positions are those of the tree."""

    names: list[str] = field(default_factory=list)
    parents: list[int | None] = field(default_factory=list)
    children: list[tuple[int, ...]] = field(default_factory=list)
    tests: list[Predicate] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    records: list[float | None] = field(default_factory=list)
    outputs: list[tuple[float, ...] | None] = field(default_factory=list)
    defaults: list[int | None] = field(default_factory=list)

    def tree(self, features: tuple[Feature, ...], quality: Quality, source: str, name: str) -> Tree:
        """Return the tree, whose missing values go to the default child; inconsistent where counts do not add up."""
        nodes = tuple(
            map(
                Node,
                range(len(self.names)),
                self.names,
                self.parents,
                self.children,
                self.tests,
                self.scores,
                self.records,
                repeat(None),
                repeat(None),
                self.outputs,
                self.defaults,
            )
        )
        tree = Tree(
            nodes,
            features,
            "",
            task=Task.REGRESSION,
            quality=quality,
            missing=Missing.DEFAULT_CHILD,
            source=source,
        )
        if not tree.has_people or self._adds_up():
            return tree
        said = f"{name}: {next(contradictions(tree), 'its counts do not add up')}"
        return Tree(
            nodes,
            features,
            "",
            task=Task.REGRESSION,
            quality=Quality.INCONSISTENT,
            missing=Missing.DEFAULT_CHILD,
            source=source,
            notes=(said,),
        )

    def _adds_up(self) -> bool:
        records = self.records
        for own, below in zip(records, self.children, strict=True):
            if own is None or not below:
                continue
            theirs = [records[child] for child in below]
            known = sum(count for count in theirs if count is not None)
            if known > own or (known < own and None not in theirs):
                return False
        return True


@dataclass(slots=True)
class Comparisons:
    """The numeric tests of one file: trees repeat them, so that each is made once."""

    made: dict[tuple[str, float, bool], tuple[NumericTest, NumericTest]] = field(
        default_factory=dict
    )

    def below(self, feature: str, threshold: float) -> tuple[NumericTest, NumericTest]:
        """Return ``x < threshold`` and what is left."""
        return self._cut(feature, threshold, False)

    def up_to(self, feature: str, threshold: float) -> tuple[NumericTest, NumericTest]:
        """Return ``x <= threshold`` and what is left."""
        return self._cut(feature, threshold, True)

    def _cut(self, feature: str, end: float, closed: bool) -> tuple[NumericTest, NumericTest]:
        found = self.made.get((feature, end, closed))
        if found is None:
            found = self.made[feature, end, closed] = (
                NumericTest(feature, high=end, high_closed=closed),
                NumericTest(feature, low=end, low_closed=not closed),
            )
        return found


def numbers(value: object, source: str, steps: Steps) -> Numbers:
    """Return a list of numbers; NaN and infinite ones are let through.

    Raises:
        TreeFormatError: it is no list, or holds something else.
    """
    items = as_list(value, source, steps)
    if set(map(type, items)) <= {float, int}:
        try:
            return np.array(items, dtype=np.float64)
        except OverflowError:
            pass
    raise refused(source, steps, "holds something that is no number")


def wholes(value: object, source: str, steps: Steps) -> Wholes:
    """Return a list of whole numbers; true and false count as 1 and 0.

    Raises:
        TreeFormatError: it is no list, or holds something else.
    """
    items = as_list(value, source, steps)
    if set(map(type, items)) <= {int, bool}:
        try:
            return np.array(items, dtype=np.int64)
        except OverflowError:
            pass
    raise refused(source, steps, "holds something that is no whole number")


def preorder(left: Sequence[int], right: Sequence[int], where: str) -> list[int]:
    """Return the nodes that the root reaches, each parent before its children, left before right.

    Raises:
        TreeFormatError: a child is no node or has two parents, or the nodes nest too deep.
    """
    size = len(left)
    if not 0 < size <= limits.NODES:
        raise TreeFormatError(where, f"{size:,} nodes, where 1 to {limits.NODES:,} should be")
    order: list[int] = []
    stack = [(0, 0)]
    while stack:
        node, depth = stack.pop()
        order.append(node)
        if len(order) > size or depth > limits.DEPTH:
            raise TreeFormatError(
                where, f"nodes nest more than {limits.DEPTH} deep, or one has two parents"
            )
        low, high = left[node], right[node]
        if low != LEAF:
            if not (0 < low < size and 0 < high < size):
                raise TreeFormatError(where, f"node {node} has a child that is no node")
            stack.append((high, depth + 1))
            stack.append((low, depth + 1))
    if len(set(order)) < len(order):
        raise TreeFormatError(where, "a node has two parents")
    return order


def differing_roots(trees: Iterable[Tree]) -> bool:
    """Whether trees that count people start from different numbers of them: each saw a sample."""
    return len({tree.root.records for tree in trees if tree.has_people}) > 1


def gathered_notes(trees: Iterable[Tree]) -> tuple[str, ...]:
    """Return the first note of the trees, and how many more have one."""
    found = [note for tree in trees for note in tree.notes[:1]]
    more = f" (and {len(found) - 1} more trees)" if len(found) > 1 else ""
    return (found[0] + more,) if found else ()


def paired(before: Model, after: Model) -> list[tuple[Tree, Tree]]:
    """Return the trees of a file beside those they are changed to.

    Raises:
        OutputError: there are more or fewer of them, or a tree has nodes that the file's has not.
    """
    if not isinstance(before, Ensemble) or not isinstance(after, Ensemble):
        raise OutputError(before.source, "its trees can only be changed as an ensemble")
    pairs = list(zip(before.trees, after.trees, strict=False))
    if len(pairs) < max(len(before.members), len(after.members)):
        raise OutputError(before.source, "a tree was added or taken away, which is not written")
    for old, new in pairs:
        names = {node.name for node in old.nodes}
        strange = [node.name for node in new.nodes if node.name not in names]
        if strange:
            raise OutputError(before.source, f"the node {strange[0]!r} is none of the file's")
    return pairs


def leaf_score(tree: Tree, node: Node) -> float:
    """Return the number of a leaf.

    Raises:
        OutputError: it has none.
    """
    if not isinstance(node.score, int | float):
        raise OutputError(tree.source, f"the leaf {node.name!r} has no number to predict")
    return float(node.score)
