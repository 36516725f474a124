"""One value per cell of a number between thresholds, so that every threshold is still the middle of its neighbours.

A cell lies between two consecutive thresholds of the attribute, over all trees. For each split, the values of the cells
that hold its nearest records left and right add up to twice its threshold. Cells that such equations join have one
free number between them; it is put near the middle of what keeps each value inside its own cell. Where there is no
such number, the cells keep the true values next to their splits (anchors), and each other value goes to the nearest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.learn.splits import threshold
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns, categorical, numeric
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, answer
from treewarden.ppdm_models.tree.tree import Node, Tree

# What trees ask of each attribute of a table: the cuts of numbers, and the categories that are told apart.


@dataclass(frozen=True, slots=True)
class NumberSplit:
    """A split on a number: its threshold, and the nearest of the node's own records on either side."""

    node: str
    threshold: float
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class CategorySplit:
    """A split on categories: the values that are named at it, and whether every value must stay apart from the others.

    ``sides`` are, where the split may be any two sets, the values of the node's own records to the left and right.
    """

    node: str
    values: tuple[str, ...]
    is_fine: bool
    sides: tuple[frozenset[str], frozenset[str]] | None = None


@dataclass(frozen=True, slots=True)
class SplitsByAttribute:
    """The splits of several trees by attribute; an attribute that no tree uses is in neither."""

    cuts: Mapping[str, tuple[NumberSplit, ...]]
    choices: Mapping[str, tuple[CategorySplit, ...]]


def rows_of(tree: Tree, columns: Columns, size: int) -> list[IndexArray]:
    """Return the records of each node, by node index."""
    rows = [np.arange(size, dtype=np.intp)] * len(tree.nodes)
    for node in tree.nodes[1:]:
        assert node.parent is not None
        above = rows[node.parent]
        here = {name: column.take(above) for name, column in columns.items()}
        rows[node.index] = above[answer(node.test, here, len(above)).true]
    return rows


def splits_of_trees(
    trees: Sequence[Tree], columns: Columns, size: int, sets: Sequence[Sequence[str]] = ()
) -> SplitsByAttribute:
    """Return what the trees ask of a table of ``size`` records; ``sets`` are the attributes that each parts by sets.

    Where only some trees do, merged values would be new to the others, so that none are merged.

    Raises:
        ValueError: a tree splits in a way that no learner here does.
    """
    cuts: dict[str, list[NumberSplit]] = {}
    choices: dict[str, list[CategorySplit]] = {}
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
                number_split = NumberSplit(
                    node.name, test.high, float(left.max()), float(right.min())
                )
                cuts.setdefault(test.feature, []).append(number_split)
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
    return SplitsByAttribute(
        {name: tuple(number_splits) for name, number_splits in cuts.items()},
        {name: tuple(category_splits) for name, category_splits in choices.items()},
    )


def _choice(tree: Tree, node: Node) -> tuple[str, CategorySplit]:
    tests = [tree.nodes[child].test for child in node.children]
    named = [test for test in tests if isinstance(test, CategoryTest)]
    if len(named) < len(tests) or len({test.feature for test in named}) > 1:
        raise ValueError(f"node {node.name!r} does not split on the categories of one attribute")
    values = tuple(value for test in named if not test.negated for value in test.values)
    return named[0].feature, CategorySplit(
        node.name, values, is_fine=not any(test.negated for test in named)
    )


def _values(column: CategoricalColumn, rows: IndexArray) -> frozenset[str]:
    return frozenset(column.categories[code] for code in np.unique(column.codes[rows]))


FINEST = 60
"""The finest grid, in binary places, that a free number is looked for on."""


@dataclass(frozen=True, slots=True)
class NewValues:
    """The new value of each distinct value, shape (U,), and how many cells keep true values as anchors."""

    values: FloatArray
    anchored: int


@dataclass(frozen=True, slots=True)
class _LinearValue:
    """A cell's value as a function of its component's free number: ``sign * free + shift``."""

    sign: int
    shift: Fraction


def one_per_cell(
    distinct: FloatArray, cuts: Sequence[NumberSplit], single: bool = False
) -> NewValues:
    """Return what stands for each of the ascending ``distinct`` values; ``single``: as numbers of 32 bits."""
    thresholds = np.unique([cut.threshold for cut in cuts])
    cell = np.searchsorted(thresholds, distinct)
    places = {value: int(where) for value, where in zip(distinct.tolist(), cell, strict=True)}
    joined = [(places[cut.left], places[cut.right], cut.threshold) for cut in cuts]
    ends = [-np.inf, *thresholds.tolist(), np.inf]
    bounds = {
        index: (max(ends[index], float(inside[0])), min(ends[index + 1], float(inside[-1])))
        if index in (0, len(thresholds))
        else (ends[index], ends[index + 1])
        for index in sorted(set(places.values()))
        for inside in [distinct[cell == index]]
    }
    values = distinct.copy()
    anchored = 0
    for component in _components(list(bounds), joined):
        own = [each for each in joined if each[0] in component]
        chosen = _solved(component, own, bounds, single)
        for index in component:
            here = np.flatnonzero(cell == index)
            if chosen is not None:
                values[here] = chosen[index]
            else:
                anchored += 1
                near = {value for cut in cuts for value in (cut.left, cut.right)}
                values[here] = _nearest(
                    distinct[here], [value for value in sorted(near) if places[value] == index]
                )
    return NewValues(values, anchored)


def _components(cells: Sequence[int], joined: Sequence[tuple[int, int, float]]) -> list[list[int]]:
    """Return the cells that equations join, each group with its lowest cell first."""
    group = {index: index for index in cells}
    for left, right, _ in joined:
        old, new = group[right], group[left]
        group = {index: new if own == old else own for index, own in group.items()}
    found: dict[int, list[int]] = {}
    for index in cells:
        found.setdefault(group[index], []).append(index)
    return list(found.values())


def _solved(
    component: Sequence[int],
    joined: Sequence[tuple[int, int, float]],
    bounds: dict[int, tuple[float, float]],
    single: bool,
) -> dict[int, float] | None:
    """Return a value per cell that keeps every threshold to the last bit, or None where none was found."""
    solution = _lines(component[0], joined)
    if solution is None:
        return None
    lines, fixed = solution
    if len(component) == 1 and bounds[component[0]][0] == bounds[component[0]][1]:
        return {component[0]: bounds[component[0]][0]}
    low, high = _range(lines, bounds)
    if low >= high:
        return None
    free = _coarsest(low, high) if fixed is None else fixed
    if not low < free < high:
        return None
    exact = {index: line.sign * free + line.shift for index, line in lines.items()}
    values = {index: float(value) for index, value in exact.items()}
    if any(Fraction(values[index]) != value for index, value in exact.items()):
        return None
    if single and any(float(np.float32(value)) != value for value in values.values()):
        return None
    kept = all(threshold(values[left], values[right]) == at for left, right, at in joined)
    return values if kept else None


def _lines(
    root: int, joined: Sequence[tuple[int, int, float]]
) -> tuple[dict[int, _LinearValue], Fraction | None] | None:
    """Return each cell's line and the free number where a cycle settles it; None where a cycle contradicts itself."""
    lines = {root: _LinearValue(1, Fraction(0))}
    fixed: Fraction | None = None
    left_over = [*joined]
    while left_over:
        left, right, at = next(each for each in left_over if each[0] in lines or each[1] in lines)
        left_over.remove((left, right, at))
        known, other = (left, right) if left in lines else (right, left)
        line = _LinearValue(-lines[known].sign, 2 * Fraction(at) - lines[known].shift)
        linear_value = lines.setdefault(other, line)
        if linear_value == line:
            continue
        if linear_value.sign == line.sign:
            return None
        settled = (line.shift - linear_value.shift) / (linear_value.sign - line.sign)
        if fixed not in (None, settled):
            return None
        fixed = settled
    return lines, fixed


def _range(
    lines: dict[int, _LinearValue], bounds: dict[int, tuple[float, float]]
) -> tuple[Fraction, Fraction]:
    """Return the open range of the free number in which every value is inside its cell."""
    lows, highs = [], []
    for index, line in lines.items():
        ends = [(Fraction(end) - line.shift) * line.sign for end in bounds[index]]
        lows.append(min(ends))
        highs.append(max(ends))
    return max(lows), min(highs)


def _coarsest(low: Fraction, high: Fraction) -> Fraction:
    """Return the number with the fewest binary places in the middle half of an open range."""
    middle, margin = (low + high) / 2, (high - low) / 4
    for places in range(FINEST):
        number = Fraction(round(middle * 2**places), 2**places)
        if abs(number - middle) <= margin:
            return number
    return middle


def _nearest(values: FloatArray, anchors: Sequence[float]) -> FloatArray:
    """Return the nearest anchor of each value, the lower of two."""
    known = np.array(anchors)
    above = np.clip(np.searchsorted(known, values), 0, len(known) - 1)
    below = np.maximum(above - 1, 0)
    is_below = values - known[below] <= known[above] - values
    nearest: FloatArray = np.where(is_below, known[below], known[above])
    return nearest


# One value per cell of an attribute whose categories are parted by sets: what always goes the same way becomes one.
#
# The first value of a cell is at every node where any of it is. So the values of a node stand in the order that their
# cells do, and of equally good ways to part them the same one stays the first.

BETWEEN = "|"


def merged(values: Sequence[str], choices: Sequence[CategorySplit]) -> dict[str, str]:
    """Return what each of the ascending values is called: its cell's values, named one after the other.

    No values are merged where the new names would not be told apart, or not stand in the order of the cells.
    """
    cells: list[list[str]] = []
    for value in values:
        own = next((cell for cell in cells if _goes_with(value, cell[0], choices)), None)
        if own is None:
            cells.append([value])
        else:
            own.append(value)
    names = [BETWEEN.join(cell) for cell in cells]
    if names != sorted(set(names)):
        return {value: value for value in values}
    return {value: name for name, cell in zip(names, cells, strict=True) for value in cell}


def _goes_with(value: str, first: str, choices: Sequence[CategorySplit]) -> bool:
    """Return whether a value is nowhere but where the first of a cell is, on the same side."""
    sides = [side for choice in choices for side in choice.sides or ()]
    return all(first in side for side in sides if value in side)


def renamed(tree: Tree, names: Mapping[str, Mapping[str, str]]) -> Tree:
    """Return a tree that asks for the new names of the values."""
    return replace(tree, nodes=tuple(_renamed(node, names) for node in tree.nodes))


def _renamed(node: Node, names: Mapping[str, Mapping[str, str]]) -> Node:
    test = node.test
    if not isinstance(test, CategoryTest) or test.feature not in names:
        return node
    values = tuple(names[test.feature][value] for value in test.values)
    return replace(node, test=CategoryTest(test.feature, values, test.negated))


# Step 3 of tree-pattern-preserving sanitisation as it is printed; it does not always keep the tree.
#
# Two splits that share a boundary value both write their interval, and the second moves the threshold of the first;
# values strictly between the boundaries of a split become small groups of their own. Both are shown in the tests.


def as_printed(distinct: FloatArray, counts: FloatArray, cuts: Sequence[NumberSplit]) -> FloatArray:
    """Return the new value of each ascending distinct value, shape (U,); ``counts`` are records per value.

    Means are over records, and an interval with two boundaries is halved by its distinct values: the text leaves both
    open. An interval without a boundary becomes its mean.
    """
    interval = _intervals(distinct, cuts)
    totals = np.bincount(interval, weights=distinct * counts)
    means = totals / np.bincount(interval, weights=counts)
    values = means.copy()
    for cut in cuts:
        left, right = (interval[np.searchsorted(distinct, v)] for v in (cut.left, cut.right))
        shift = min(cut.left - means[left], means[right] - cut.right)
        values[left], values[right] = cut.left - shift, cut.right + shift
    moved: FloatArray = values[interval]
    return moved


def _intervals(
    distinct: FloatArray, cuts: Sequence[NumberSplit]
) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Return the interval of each distinct value: one ends at each left boundary, one starts at each right one."""
    ends = {int(np.searchsorted(distinct, cut.left)) for cut in cuts}
    starts = {int(np.searchsorted(distinct, cut.right)) for cut in cuts}
    opened = sorted({0, *starts, *(end + 1 for end in ends if end + 1 < len(distinct))})
    halves = []
    for first, after in zip(opened, [*opened[1:], len(distinct)], strict=True):
        if first in starts and after - 1 in ends and after - first > 1:
            halves.append(first + (after - first + 1) // 2)
    begins = np.zeros(len(distinct), dtype=np.intp)
    begins[[*opened, *halves]] = 1
    return np.cumsum(begins) - 1
