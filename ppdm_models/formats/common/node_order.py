"""Puts nodes that a file holds in any order, by reference or nested, into the one order that a tree has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link, Model
from treewarden.ppdm_models.tree.predicate import (
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
    atoms,
)
from treewarden.ppdm_models.tree.tree import NO_FIGURES, Feature, LearnerFigures, Node, Tree

Handle = TypeVar("Handle")


@dataclass(frozen=True, slots=True)
class Branch:
    """The way to a child: its test, and whether a record without the tested value goes there."""

    child: object
    test: Predicate
    takes_missing: bool = False


@dataclass(frozen=True, slots=True)
class Draft:
    """A node before it has its place: as in ``Node``, with its branches in the order they are asked."""

    name: str
    branches: tuple[Branch, ...] = ()
    score: str | float | None = None
    records: float | None = None
    class_counts: tuple[float | None, ...] | None = None
    class_shares: tuple[float, ...] | None = None
    outputs: tuple[float, ...] | None = None
    line: int | None = None
    spread: tuple[float, float] | None = None


ALL_NODES = 1_000_000
"""The most nodes of all trees of one file together."""


def bounded(forest: Iterable[tuple[Node, ...]], source: str) -> list[tuple[Node, ...]]:
    """Return the trees, made one by one.

    Raises:
        TreeFormatError: together they have more than ``ALL_NODES`` nodes.
    """
    found: list[tuple[Node, ...]] = []
    total = 0
    for nodes in forest:
        total += len(nodes)
        if total > ALL_NODES:
            raise TreeFormatError(
                source,
                f"all trees together have more than {ALL_NODES:,} nodes, which is "
                "the limit; train a smaller model",
            )
        found.append(nodes)
    return found


def grown(
    root: Handle, draft_of: Callable[[Handle], Draft], source: str, *, classes: int = 1
) -> tuple[Node, ...]:
    """Return the nodes in document order, from the root down; ``draft_of`` reads the node behind a handle.

    A handle that can be compared by value (a number, a tuple) may be met once only: a node has one parent.

    Raises:
        TreeFormatError: a node is reached twice, or there are too many, or too many on one path.
    """
    drafts: list[tuple[Draft, int | None, Predicate]] = []
    children: list[list[int]] = []
    seen: set[object] = set()
    stack: list[tuple[object, int | None, Branch, int]] = [(root, None, Branch(root, Always()), 0)]
    while stack:
        handle, parent, branch, depth = stack.pop()
        if depth > limits.DEPTH:
            raise TreeFormatError(
                source,
                f"nodes nest more than {limits.DEPTH} deep, which is the limit; "
                "train shallower trees",
            )
        if len(drafts) >= limits.NODES:
            raise TreeFormatError(
                source,
                f"a tree has more than {limits.NODES:,} nodes, which is the "
                "limit; train a smaller tree",
            )
        if (len(drafts) + 1) * classes > limits.CLASS_NUMBERS:
            raise TreeFormatError(
                source,
                f"{classes:,} classes at {len(drafts):,} nodes are too many; train a smaller model",
            )
        if isinstance(handle, int | tuple):
            if handle in seen:
                raise TreeFormatError(
                    source, f"node {handle!r} has two parents, so this is not a tree"
                )
            seen.add(handle)
        draft = draft_of(handle)  # type: ignore[arg-type]  # branches hold handles of the root's type
        index = len(drafts)
        drafts.append((draft, parent, branch.test))
        children.append([])
        if parent is not None:
            children[parent].append(index)
        stack.extend((way.child, index, way, depth + 1) for way in reversed(draft.branches))
    return tuple(_placed(index, *drafts[index], children[index]) for index in range(len(drafts)))


def _placed(
    index: int, draft: Draft, parent: int | None, test: Predicate, children: Sequence[int]
) -> Node:
    default = [
        child for child, way in zip(children, draft.branches, strict=True) if way.takes_missing
    ]
    return Node(
        index=index,
        name=draft.name,
        parent=parent,
        children=tuple(children),
        test=test,
        score=draft.score,
        records=draft.records,
        class_counts=draft.class_counts,
        class_shares=draft.class_shares,
        outputs=draft.outputs,
        default_child=default[0] if default else None,
        line=draft.line,
        figures=NO_FIGURES if draft.spread is None else LearnerFigures(spread=draft.spread),
    )


def summed(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return the nodes with the records of inner nodes added up from their leaves, where every leaf has some."""
    if any(node.is_leaf and node.records is None for node in nodes):
        return tuple(nodes)
    records = [node.records if node.is_leaf else 0.0 for node in nodes]
    for node in reversed(nodes):
        if node.children:
            records[node.index] = math.fsum(records[child] or 0.0 for child in node.children)
    return tuple(replace(node, records=total) for node, total in zip(nodes, records, strict=True))


def compared(feature: str, operator: str, threshold: float) -> tuple[Predicate, Predicate]:
    """Return the test ``feature operator threshold`` and its opposite, for values that are there.

    Raises:
        KeyError: the operator is none of < <= > >= == !=.
    """
    if operator in (">", ">=", "!="):
        opposite = {">": "<=", ">=": "<", "!=": "=="}[operator]
        no, yes = compared(feature, opposite, threshold)
        return yes, no
    if math.isinf(threshold):
        return _without_end(feature, threshold > 0 and operator != "==")
    if operator == "==":
        below, above = NumericTest(feature, high=threshold), NumericTest(feature, low=threshold)
        equal = NumericTest(feature, threshold, threshold, low_closed=True, high_closed=True)
        return equal, AnyOf((below, above))
    closed = {"<=": True, "<": False}[operator]
    return (
        NumericTest(feature, high=threshold, high_closed=closed),
        NumericTest(feature, low=threshold, low_closed=not closed),
    )


def _without_end(feature: str, holds: bool) -> tuple[Predicate, Predicate]:
    """Every finite number is below an infinite threshold; only the missing ones may go the other way."""
    present, absent = MissingTest(feature, negated=True), MissingTest(feature)
    return (present, absent) if holds else (absent, present)


def among(feature: str, numbers: Iterable[float]) -> tuple[Predicate, Predicate]:
    """Return the test that a number is one of some, and its opposite: to lie between two of them or outside."""
    points = sorted(set(numbers))
    if not points:
        return Never(), Always()
    equal = [compared(feature, "==", point)[0] for point in points]
    gaps = zip([-math.inf, *points], [*points, math.inf], strict=True)
    between = [NumericTest(feature, low=low, high=high) for low, high in gaps]
    return AnyOf(tuple(equal)), AnyOf(tuple(between))


def belongs(feature: str, values: Iterable[str]) -> tuple[Predicate, Predicate]:
    """Return the test that a value is one of a set, and its opposite; nothing is in an empty set."""
    named = tuple(values)
    if not named:
        return Never(), Always()
    return CategoryTest(feature, named), CategoryTest(feature, named, negated=True)


def unique(names: Iterable[str], what: str, source: str, limit: int) -> tuple[str, ...]:
    """Return the names.

    Raises:
        TreeFormatError: two are the same, or there are more than ``limit``.
    """
    found = tuple(names)
    if len(found) > limit:
        raise TreeFormatError(
            source,
            f"{len(found):,} {what} are more than the limit of {limit:,}; train a smaller model",
        )
    if len(set(found)) < len(found):
        twice = Counter(found).most_common(1)[0][0]
        raise TreeFormatError(source, f"two {what} are named {twice[:80]!r}")
    return found


def features_named(
    names: Sequence[str],
    nodes: Iterable[Node],
    source: str,
    *,
    single: bool = False,
    values: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Feature, ...]:
    """Return the features: categorical where a test names categories or ``values`` has some, numeric otherwise.

    Raises:
        TreeFormatError: a feature is tested both as a number and as a category.
    """
    values = values or {}
    tested: dict[type, set[str]] = {CategoryTest: set(), NumericTest: set()}
    for node in nodes:
        for atom in atoms(node.test):
            if isinstance(atom, CategoryTest | NumericTest):
                tested[type(atom)].add(atom.feature)
    categorical = tested[CategoryTest] | set(values)
    both = sorted(categorical & tested[NumericTest])
    if both:
        raise TreeFormatError(source, f"{both[0]!r} is tested both as a number and as a category")
    return tuple(
        Feature(name, numeric=False, values=values.get(name, ()))
        if name in categorical
        else Feature(name, numeric=True, single=single)
        for name in names
    )


def simplest(ensemble: Ensemble) -> Model:
    """Return the tree itself where an ensemble has one only, and adds nothing to it but its notes.

    A tree whose growth is told stays in its ensemble: its leaf values are steps of a boosting, no means of its leaves.
    """
    (first, *members) = ensemble.members
    tree = first.model
    bare = not members and first.weight == 1 and first.output is None and not any(ensemble.base)
    if not isinstance(tree, Tree) or not bare or ensemble.link is not Link.IDENTITY:
        return ensemble
    if tree.classes != ensemble.classes or ensemble.growth is not None:
        return ensemble
    return replace(tree, notes=(*ensemble.notes, *tree.notes))
