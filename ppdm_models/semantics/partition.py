"""Whether the children of each node split it: every record goes to exactly one of them.

The check is exact: it looks at one record per cell that the tests can tell apart, within the region of the node.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    Atom,
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
    answer,
    atoms,
    features_of,
    text,
)
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree


@dataclass(frozen=True, slots=True)
class CategoryRegion:
    """What holds of every record that reaches a node: ``features`` were tested above it, each at one node.

    ``conditions`` counts the tests that hold and those of earlier siblings that do not. ``is_reached`` says whether
    some record meets all of them.
    """

    features: frozenset[str]
    conditions: int
    is_reached: bool


EVERYTHING = CategoryRegion(frozenset(), 0, is_reached=True)


@dataclass(frozen=True, slots=True)
class DeclaredSplit:
    """Children that each take some categories of one feature, which the file declares: its tests, in their order."""

    feature: Feature
    tests: tuple[CategoryTest, ...]

    @property
    def first_gap(self) -> str | None:
        """The first declared category that no child takes; None where there is none."""
        named = {value for test in self.tests for value in test.values}
        return next((value for value in self.feature.values if value not in named), None)

    @property
    def has_overlap(self) -> bool:
        """Whether some category is taken by two children."""
        named = [value for test in self.tests for value in test.values]
        return len(set(named)) < len(named)

    def below(self, region: CategoryRegion) -> Iterator[CategoryRegion]:
        """Yield the region of each child, in their order; ``region`` is that of their parent, free of the feature."""
        features, taken = region.features | {self.feature.name}, set[str]()
        for earlier, test in enumerate(self.tests):
            is_reached = region.is_reached and not taken.issuperset(test.values)
            yield CategoryRegion(features, region.conditions + 1 + earlier, is_reached)
            taken.update(test.values)


def category_split(
    features: Mapping[str, Feature], tests: Sequence[Predicate]
) -> DeclaredSplit | None:
    """Return the split that tests make; None where one of them is not of a set of one feature's declared categories."""
    sets = tuple(test for test in tests if isinstance(test, CategoryTest) and not test.negated)
    if len(sets) < len(tests) or len({test.feature for test in sets}) != 1:
        return None
    feature = features.get(sets[0].feature)
    if feature is None or feature.numeric or not feature.values:
        return None
    return DeclaredSplit(feature, sets)


class CategoryRegions:
    """The regions of a tree's nodes, as far as they are of this kind, worked out from the root down."""

    def __init__(self, tree: Tree) -> None:
        is_open = isinstance(tree.root.test, Always)
        self._of_node = {tree.root.index: EVERYTHING} if is_open else {}

    def take(
        self, node: int, children: Sequence[int], split: DeclaredSplit | None
    ) -> CategoryRegion | None:
        """Return a node's region where it and the split of its children are of this kind; note those of its children.

        Each is asked for once, after its parent; another order only means that less is known.
        """
        region = self._of_node.pop(node, None)
        if region is None or split is None or split.feature.name in region.features:
            return None
        self._of_node.update(zip(children, split.below(region), strict=True))
        return region


# One record for every combination of answers that some tests can give: enough to decide what they say together.
#
# The truth of a test changes only at the thresholds and categories that it names, so one value per cell between them,
# and one beyond, stands for all others.

MAX_CELLS = 20_000
"""The most records that are made."""


def cells(
    names: Sequence[str], features: Mapping[str, Feature], tests: Sequence[Predicate]
) -> tuple[int, dict[str, Column]] | None:
    """Return the number of records and their columns over some features; None where there are too many.

    A missing value is among them only where a test asks for it.
    """
    if any(len(features[name].values) > MAX_CELLS for name in names if name in features):
        return None
    by_name: dict[str, list[Atom]] = {name: [] for name in names}
    for test in tests:
        for atom in atoms(test):
            for name in features_of(atom):
                if name in by_name:
                    by_name[name].append(atom)
    lines = [_representatives(features.get(name), by_name[name]) for name in names]
    size = math.prod(len(line) for line in lines)
    return None if size > MAX_CELLS else (size, _grid(names, lines, size))


def witness(columns: dict[str, Column], cell: int) -> str:
    """Return one record as people write it."""
    values = {name: column.text(cell) for name, column in columns.items()}
    said = ", ".join(
        f"{name} {'missing' if value is None else f'= {value}'}" for name, value in values.items()
    )
    return said or "any values"


def _grid(names: Sequence[str], lines: Sequence[Column], size: int) -> dict[str, Column]:
    """Return every combination of the representatives, one per row."""
    columns, stride = {}, 1
    for name, line in zip(names, lines, strict=True):
        columns[name] = line.take(np.arange(size) // stride % len(line))
        stride *= len(line)
    return columns


def _representatives(feature: Feature | None, here: Sequence[Atom]) -> Column:
    """Return one value of a feature per cell that its tests can tell apart."""
    with_missing = any(isinstance(atom, MissingTest) for atom in here)
    ends = {end for atom in here if isinstance(atom, NumericTest) for end in (atom.low, atom.high)}
    named = {value for atom in here if isinstance(atom, CategoryTest) for value in atom.values}
    numeric = not named if feature is None else feature.numeric
    if numeric:
        numbers = _between(sorted(end for end in ends if math.isfinite(end)))
        return NumericColumn(np.array([*numbers, math.nan] if with_missing else numbers))
    declared = () if feature is None else feature.values
    values = [*declared, *sorted(named - set(declared))]
    if not declared:
        values.append(_another(named))
    codes = np.arange(len(values), dtype=np.int64)
    return CategoricalColumn(
        codes=np.append(codes, -1) if with_missing else codes, categories=tuple(values)
    )


def _between(ends: Sequence[float]) -> list[float]:
    """Return the ends, a number between each two, and one beyond on either side."""
    if not ends:
        return [0.0]
    below, above = _beyond(ends[0], -math.inf), _beyond(ends[-1], math.inf)
    middles = [left / 2 + right / 2 for left, right in zip(ends, ends[1:], strict=False)]
    return sorted({number for number in (below, *ends, *middles, above) if math.isfinite(number)})


def _beyond(end: float, towards: float) -> float:
    step = end + math.copysign(1.0, towards)
    return step if step != end else math.nextafter(end, towards)


def _another(named: set[str]) -> str:
    value = "another value"
    while value in named:
        value += "'"
    return value


MAX_CONDITIONS = 500
"""The most tests above a node that are taken into account; beyond, the node is skipped."""

MAX_TABLE = 10_000_000
"""The most answers (a test asked of a cell) that are looked at together; beyond, the node is skipped."""

MAX_WORK = 50_000_000
"""The most answers per tree: some seconds; beyond, the rest is skipped."""


@dataclass(frozen=True, slots=True)
class PartitionProblem:
    """Two children of a node take the same record, none takes it, or the node was too large to check.

    ``children`` are the two that overlap (node indices); ``witness`` is a record as people write it.
    """

    kind: Literal["overlap", "gap", "skipped"]
    node: int
    children: tuple[int, ...] = ()
    witness: str = ""

    def describe(self, tree: Tree) -> str:
        """Return the problem in words, with the place in the file."""
        return f"{tree.where(tree.nodes[self.node])}: {self.words(tree)}"

    def words(self, tree: Tree) -> str:
        """Return the problem in words."""
        if self.kind == "skipped":
            return "too many combinations to check whether its children overlap"
        if self.kind == "gap":
            return f"no child takes a record with {self.witness}"
        first, second = (tree.nodes[child] for child in self.children)
        return (
            f"its children {first.name!r} ({text(first.test)}) and {second.name!r} ({text(second.test)}) "
            f"both take a record with {self.witness}"
        )


class _Budget:
    """The work that the check of one tree may still cost, so that a hostile file cannot make it last."""

    def __init__(self) -> None:
        self.left = MAX_WORK

    def allows(self, tests: int, cells: int) -> bool:
        """Take from the budget what asking some tests of some cells costs; return whether it was there."""
        cost = tests * (cells + 500)  # asking costs about as much as the first 500 cells
        if cost > self.left:
            return False
        self.left -= cost
        return True


def problems(tree: Tree) -> Iterator[PartitionProblem]:
    """Yield what keeps the children of each inner node from splitting it, at most one overlap and one gap per node.

    A record whose tested value is missing, so that some child answers "unknown", is no gap: the tree's missing-value
    strategy speaks for it.
    """
    if isinstance(tree.nodes, NodeTable) and tree.nodes.plainly_splits():
        return
    budget, regions = _Budget(), CategoryRegions(tree)
    features = {feature.name: feature for feature in tree.features}
    for node in tree.nodes:
        tests = [tree.nodes[child].test for child in node.children]
        if not tests:
            continue
        split = category_split(features, tests)
        region = regions.take(node.index, node.children, split)
        if _plainly_splits(features, tests):
            continue
        if split is None or region is None or split.has_overlap or _is_large(split):
            yield from _problems_at(tree, node, tests, features, budget)
        else:
            yield from _category_problems(node, split, region)


def _is_large(split: DeclaredSplit) -> bool:
    """Return whether a split is too large for the records of it to be made: then it is said to be skipped."""
    size = len(split.feature.values) + sum(len(test.values) for test in split.tests)
    return size > MAX_CELLS or size * len(split.tests) > MAX_TABLE


def _category_problems(
    node: Node, split: DeclaredSplit, region: CategoryRegion
) -> Iterator[PartitionProblem]:
    """Yield the gap that children leave who take categories of a feature that nothing above the node tests."""
    gap = split.first_gap
    if gap is None:
        return
    if region.conditions > MAX_CONDITIONS:
        yield PartitionProblem("skipped", node.index)
    elif region.is_reached:
        yield PartitionProblem("gap", node.index, (), f"{split.feature.name} = {gap}")


def _plainly_splits(features: Mapping[str, Feature], tests: Sequence[Predicate]) -> bool:
    """Recognise the common case fast: tests on one feature that split all its values."""
    if all(isinstance(test, NumericTest) for test in tests):
        return _intervals_join([test for test in tests if isinstance(test, NumericTest)])
    if all(isinstance(test, CategoryTest) for test in tests):
        return _sets_join(features, [test for test in tests if isinstance(test, CategoryTest)])
    return False


def _intervals_join(tests: Sequence[NumericTest]) -> bool:
    if len({test.feature for test in tests}) > 1:
        return False
    ordered = sorted(tests, key=lambda test: (test.low, not test.low_closed, test.high))
    if ordered[0].low != -math.inf or ordered[-1].high != math.inf:
        return False
    return all(
        left.high == right.low and left.high_closed != right.low_closed
        for left, right in zip(ordered, ordered[1:], strict=False)
    )


def _sets_join(features: Mapping[str, Feature], tests: Sequence[CategoryTest]) -> bool:
    if len({test.feature for test in tests}) > 1:
        return False
    if len(tests) == 2 and tests[0].values == tests[1].values:
        return tests[0].negated != tests[1].negated
    named = [value for test in tests for value in test.values]
    feature = features.get(tests[0].feature)
    declared = () if feature is None else feature.values
    return (
        not any(test.negated for test in tests)
        and len(named) == len(set(named))
        and len(named) == len(declared)
        and set(named) == set(declared)
    )


def _problems_at(
    tree: Tree,
    node: Node,
    tests: Sequence[Predicate],
    features: Mapping[str, Feature],
    budget: _Budget,
) -> Sequence[PartitionProblem]:
    if not budget.allows(len(tests), 0):
        return [PartitionProblem("skipped", node.index)]
    own = list(dict.fromkeys(name for test in tests for name in features_of(test)))
    anywhere = _look(node, tests, features, own, [], budget)
    if anywhere == []:  # then nor in the region of the node
        return []
    known = _region(tree, node)
    if known is None:
        return [PartitionProblem("skipped", node.index)]
    names, conditions, others = _connected(own, known)
    partition_problems = _look(node, tests, features, names, conditions, budget)
    if partition_problems is None:
        within = [condition for condition in known if set(features_of(condition[0])) <= set(own)]
        is_clean = _look(node, tests, features, own, within, budget) == []
        partition_problems = [] if is_clean else [PartitionProblem("skipped", node.index)]
    return (
        partition_problems if partition_problems and _is_reached(others, features, budget) else []
    )


def _is_reached(
    met_conditions: Sequence[Condition], features: Mapping[str, Feature], budget: _Budget
) -> bool:
    """Whether some record meets all conditions, as far as that can be told."""
    constant = [condition for condition in met_conditions if not any(features_of(condition[0]))]
    if not _inside(constant, 1, {}).all():
        return False
    rest = [condition for condition in met_conditions if any(features_of(condition[0]))]
    while rest:
        names, conditions, rest = _connected([next(features_of(rest[0][0]))], rest)
        made = _cells(names, features, [test for test, _ in conditions], budget)
        if made is not None and not _inside(conditions, *made).any():
            return False
    return True


Condition = tuple[Predicate, bool]


def _region(tree: Tree, node: Node) -> list[Condition] | None:
    """Return what is known of every record that reaches a node: tests that hold, and earlier siblings' that do not.

    None where that is too much.
    """
    conditions: list[Condition] = []
    for step in tree.path(node.index):
        parts = step.test.parts if isinstance(step.test, AllOf) else (step.test,)
        conditions.extend((part, True) for part in parts if not isinstance(part, Always))
        if step.parent is not None:
            for sibling in tree.nodes[step.parent].children:
                if sibling == step.index or len(conditions) > MAX_CONDITIONS:
                    break
                conditions.append((tree.nodes[sibling].test, False))
        if len(conditions) > MAX_CONDITIONS:
            return None
    return conditions


def _connected(
    names: Sequence[str], conditions: Sequence[Condition]
) -> tuple[list[str], list[Condition], list[Condition]]:
    """Split conditions into those that bear on some features, directly or through others, and the rest.

    Returned with all features that they name.
    """
    reached = dict.fromkeys(names)
    rest, chosen = list(conditions), list[Condition]()
    while True:
        touching = [not reached.keys().isdisjoint(features_of(test)) for test, _ in rest]
        if not any(touching):
            return list(reached), chosen, rest
        new = list(compress(rest, touching))
        rest = [condition for condition, touches in zip(rest, touching, strict=True) if not touches]
        chosen += new
        reached.update(dict.fromkeys(name for test, _ in new for name in features_of(test)))


def _cells(
    names: Sequence[str],
    features: Mapping[str, Feature],
    tests: Sequence[Predicate],
    budget: _Budget,
) -> tuple[int, dict[str, Column]] | None:
    if not budget.allows(len(tests), len(names)):
        return None
    made = cells(names, features, tests)
    return made if made is not None and budget.allows(len(tests), made[0]) else None


def _inside(conditions: Sequence[Condition], size: int, columns: dict[str, Column]) -> BoolArray:
    inside = np.ones(size, dtype=bool)
    for test, holds in conditions:
        true = answer(test, columns, size).true
        inside &= true if holds else ~true
    return inside


def _look(
    node: Node,
    tests: Sequence[Predicate],
    features: Mapping[str, Feature],
    names: Sequence[str],
    conditions: Sequence[Condition],
    budget: _Budget,
) -> list[PartitionProblem] | None:
    """Return the problems among the cells of some features; None where that is too much work."""
    made = _cells(names, features, [*tests, *(test for test, _ in conditions)], budget)
    if made is None or made[0] * len(tests) > MAX_TABLE:
        return None
    size, columns = made
    inside = _inside(conditions, size, columns)
    test_answers = [answer(test, columns, size) for test in tests]
    true = np.stack([part.true for part in test_answers])
    unknown = np.stack([part.unknown for part in test_answers]).any(axis=0)
    partition_problems = []
    both = np.flatnonzero(inside & (true.sum(axis=0) > 1))
    if len(both):
        pair = tuple(node.children[child] for child in np.flatnonzero(true[:, both[0]])[:2])
        partition_problems.append(
            PartitionProblem("overlap", node.index, pair, witness(columns, int(both[0])))
        )
    none = np.flatnonzero(inside & ~true.any(axis=0) & ~unknown)
    if len(none):
        partition_problems.append(
            PartitionProblem("gap", node.index, (), witness(columns, int(none[0])))
        )
    return partition_problems
