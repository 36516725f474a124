"""The tests of a tree on a matrix, told as tests on the columns of the table that the matrix was made of."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.sklearn._arrays import threshold_tests
from treewarden.ppdm_models.tree.predicate import (
    AnyOf,
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
    features_of,
)
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Learner,
    Missing,
    Node,
    Tree,
)

# A column of the matrix that an estimator sees, as what fitted steps make of one column of the table.

Label = str | float
"""A category as the table has it: text, or a number."""

Operand = float | tuple[float, ...]


def _bin_of(number: np.float64, edges: Operand) -> np.float64:
    """Return the number of the bin between inner edges, as KBinsDiscretizer has it; missing stays missing."""
    if math.isnan(number):
        return number
    return np.float64(np.searchsorted(np.atleast_1d(edges), number, side="right"))


RISING: Mapping[str, float] = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), 0.0),
    "log1p": -1.0,
    **dict.fromkeys(("cbrt", "exp", "expm1", "arcsinh"), -math.inf),
}
"""Functions of NumPy that keep the order of numbers, and the least number that each takes; no others were there."""


def _computed(name: str, number: np.float64, operand: Operand) -> np.float64:
    """Return a function of a number, which has no other operand."""
    computed: np.float64 = getattr(np, name)(np.maximum(number, RISING[name]))
    return computed


ARITHMETIC: Mapping[str, Callable[[np.float64, Any], np.float64]] = {
    "bin": _bin_of,
    "-": np.subtract,
    "+": np.add,
    "*": np.multiply,
    "/": np.true_divide,
    "at least": np.maximum,
    "at most": np.minimum,
    **{name: partial(_computed, name) for name in RISING},
}
"""What a step does; none of it turns the order of numbers round, as scales are above 0."""


@dataclass(frozen=True, slots=True)
class Derived:
    """One column of the matrix, made of the input column at a place.

    A number goes through ``operations``, in order. Where there are ``codes``, a category becomes its number, and every
    other value ``other``: not a number where the step refuses those or calls them missing. ``labels`` are all
    categories that the step knows, and ``takes_others`` says that it takes values beside them. ``filled`` is what a
    missing value becomes (None: it stays missing).
    """

    source: int
    operations: tuple[tuple[str, Operand], ...] = ()
    codes: tuple[tuple[Label, float], ...] | None = None
    other: float = math.nan
    labels: tuple[Label, ...] = ()
    takes_others: bool = False
    filled: Label | None = None

    @property
    def is_raw(self) -> bool:
        """Whether every value that is there is still the table's own."""
        return not self.operations and self.codes is None

    def transform(self, value: float) -> float:
        """Return a number of the table as it stands in the matrix."""
        number = np.float64(value)
        with np.errstate(all="ignore"):
            for operation, operand in self.operations:
                number = ARITHMETIC[operation](number, operand)
        return float(number)

    def through(self, operation: str, operand: Operand) -> Derived:
        """Return the column after one more operation.

        Raises:
            ValueError: a missing value was filled with text.
        """
        if isinstance(self.filled, str):
            raise ValueError("missing values were filled with text, but a number is expected")
        step = replace(self, operations=((operation, operand),), codes=None)
        filled = None if self.filled is None else step.transform(self.filled)
        if self.codes is None:
            return replace(self, operations=(*self.operations, (operation, operand)), filled=filled)
        codes = tuple((label, step.transform(number)) for label, number in self.codes)
        return replace(self, codes=codes, other=step.transform(self.other), filled=filled)

    def filling(self, value: Label) -> Derived:
        """Return the column with a value in place of missing ones.

        Raises:
            ValueError: text is to stand among numbers.
        """
        if self.codes is None:
            return self if self.filled is not None else replace(self, filled=value)
        if isinstance(value, str):
            raise ValueError("an encoder produces numbers, but some of its values are text")
        number = partial(_filled, value=value)
        codes = tuple((label, number(code)) for label, code in self.codes)
        filled = value if self.filled is None else self.filled
        return replace(self, codes=codes, other=number(self.other), filled=filled)


def _filled(number: float, value: float) -> float:
    return value if math.isnan(number) else number


Pair = tuple[Predicate, Predicate]


@dataclass(frozen=True, slots=True)
class MatrixOrigin:
    """What a matrix was made of: its columns, the names of the table's, and whether trees compare 32-bit numbers."""

    columns: Sequence[Derived]
    names: Sequence[str]
    single: bool = True

    def features(self) -> tuple[Feature, ...]:
        """Return the table's columns that the matrix is made of, in the table's order."""
        seen: dict[int, Derived] = {}
        for column in self.columns:
            seen.setdefault(column.source, column)
        return tuple(_feature(self.names[place], seen[place]) for place in sorted(seen))

    def check(self, tree: Tree) -> None:
        """Refuse a tree whose tests would name too many categories.

        Raises:
            TreeFormatError: all its tests together could name more than are read.
        """
        codes = [len(column.codes or ()) for column in self.columns]
        asked = (
            int(features[0]) for node in tree.nodes if (features := list(features_of(node.test)))
        )
        if sum(codes[place] for place in asked) > limits.CLASS_NUMBERS:
            said = (
                f"its tests name more than {limits.CLASS_NUMBERS:,} categories, which "
                "is the limit; merge categories before training"
            )
            raise TreeFormatError(tree.source, said)

    def number(self, column: Derived, value: float) -> float:
        """Return a number of the table as a tree compares it."""
        seen = column.transform(value)
        with np.errstate(all="ignore"):
            return float(np.float32(seen)) if self.single else seen


def _feature(name: str, column: Derived) -> Feature:
    texts = tuple(label for label in column.labels if isinstance(label, str))
    return Feature(name, numeric=not texts, values=() if column.takes_others else texts)


def tree_of_table(tree: Tree, table: MatrixOrigin) -> Tree:
    """Return a tree whose features are called by their places in the matrix with its tests on the table: exact.

    Scaling and rounding keep the order of numbers, so a threshold becomes the largest number on its left.

    Raises:
        TreeFormatError: its tests would name too many categories.
    """
    table.check(tree)
    ends: dict[tuple[int, float, bool], float] = {}
    nodes = list(tree.nodes)
    for node in tree.nodes:
        if not node.children:
            continue
        left, right = node.children
        tests, default = _tests(tree, node, table, ends)
        nodes[left] = replace(nodes[left], test=tests[0])
        nodes[right] = replace(nodes[right], test=tests[1])
        nodes[node.index] = replace(nodes[node.index], default_child=default)
    takes_missing = any(node.default_child is not None for node in nodes)
    return replace(
        tree,
        learner=_learner(tree, table),
        nodes=tuple(nodes),
        features=table.features(),
        missing=Missing.DEFAULT_CHILD if takes_missing else tree.missing,
    )


def _learner(tree: Tree, table: MatrixOrigin) -> Learner:
    """Return how a tree was grown: where it saw bins, cuts inside them were neither compared nor possible."""
    binned = any(name == "bin" for column in table.columns for name, _ in column.operations)
    if not binned:
        return tree.learner
    unmodelled = (*tree.learner.unmodelled, "KBinsDiscretizer")
    return replace(tree.learner, unmodelled=unmodelled, stopping=None)


def _tests(
    tree: Tree, node: Node, table: MatrixOrigin, ends: dict[tuple[int, float, bool], float]
) -> tuple[Pair, int | None]:
    """Return the tests of both children, and the child that takes missing values."""
    left, right = node.children
    test = tree.nodes[left].test
    if not isinstance(test, NumericTest | CategoryTest | MissingTest) or not _is_one_sided(test):
        raise TreeFormatError(tree.source, f"node {node.name} does not divide one column in two")
    place = int(test.feature)
    column = table.columns[place]
    name = table.names[column.source]
    default = node.default_child

    def is_left(number: float) -> bool:
        """Whether a number of the matrix goes left; what is none goes as missing values do."""
        if math.isnan(number):
            return default == left
        if isinstance(test, CategoryTest):
            return str(int(number)) in test.values
        if isinstance(test, MissingTest):
            return test.negated
        narrow = _narrow(number, table)
        return narrow <= test.high if test.high_closed else narrow < test.high

    if isinstance(column.filled, float):
        default = left if is_left(column.filled) else right
    if column.codes is not None:
        lefts = [label for label, number in column.codes if is_left(number)]
        rights = [label for label, number in column.codes if not is_left(number)]
        pair = _parted(name, lefts, rights, is_left(column.other), not math.isnan(column.other))
    elif isinstance(test, MissingTest):
        there, absent = MissingTest(name, negated=True), MissingTest(name)
        pair = (there, absent) if test.negated else (absent, there)
    else:
        assert isinstance(test, NumericTest)  # sets of codes are of columns with codes
        pair = _cut(name, column, (test.high, test.high_closed), place, table, ends)
    return pair, default


def _is_one_sided(test: Predicate) -> bool:
    """Return whether a test of numbers has an upper end alone, as every cut has on its left."""
    return not isinstance(test, NumericTest) or test.low == -math.inf < test.high < math.inf


def _narrow(number: float, table: MatrixOrigin) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(number)) if table.single else number


def _cut(
    name: str,
    column: Derived,
    cut: tuple[float, bool],
    place: int,
    table: MatrixOrigin,
    ends: dict[tuple[int, float, bool], float],
) -> Pair:
    threshold, is_closed = cut
    key = place, threshold, is_closed

    def is_left(value: float) -> bool:
        number = table.number(column, value)
        return number <= threshold if is_closed else number < threshold

    if key not in ends:
        is_same = column.is_raw and not table.single and is_closed
        ends[key] = threshold if is_same else largest(is_left)
    end = ends[key]
    return threshold_tests(name, end)


def _parted(
    name: str,
    lefts: Sequence[Label],
    rights: Sequence[Label],
    others_left: bool,
    takes_others: bool,
) -> Pair:
    """Return tests that part categories in two; all that is not named goes to one side."""
    named = rights if others_left else lefts
    if not named:  # all values that are there go to one side
        there, absent = MissingTest(name, negated=True), MissingTest(name)
        return (there, absent) if others_left else (absent, there)
    if isinstance(named[0], str):
        texts = tuple(map(str, named))
        inside: Predicate = CategoryTest(name, texts)
        outside: Predicate = CategoryTest(name, texts, negated=True)
    elif not takes_others and lefts and rights and _top(lefts) < min(map(float, rights)):
        return threshold_tests(name, _top(lefts))
    else:
        numbers = sorted(map(float, named))
        inside, outside = (
            _any(_point(name, number) for number in numbers),
            _any(_gaps(name, numbers)),
        )
    return (outside, inside) if others_left else (inside, outside)


def _top(labels: Sequence[Label]) -> float:
    return max(map(float, labels))


def _any(parts: Iterable[Predicate]) -> Predicate:
    found = tuple(parts)
    return found[0] if len(found) == 1 else AnyOf(found)


def _point(name: str, number: float) -> NumericTest:
    return NumericTest(name, low=number, high=number, low_closed=True, high_closed=True)


def _gaps(name: str, numbers: Sequence[float]) -> list[Predicate]:
    ends = [-math.inf, *numbers, math.inf]
    return [
        NumericTest(name, low=low, high=high) for low, high in zip(ends, ends[1:], strict=False)
    ]


def largest(holds: Callable[[float], bool]) -> float:
    """Return the largest finite number for which a condition holds that no larger number can meet again.

    The lowest finite number where it holds for none: then no record is left of it.
    """
    low, high = _rank(-1.7976931348623157e308), _rank(1.7976931348623157e308)
    while low < high:
        middle = (low + high + 1) // 2
        if holds(_number(middle)):
            low = middle
        else:
            high = middle - 1
    return _number(low)


def _rank(value: float) -> int:
    """Return the place of a number among all 64-bit numbers, in their order."""
    bits = int(struct.unpack("<q", struct.pack("<d", value))[0])
    return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)


def _number(rank: int) -> float:
    bits = rank if rank >= 0 else (-rank) | (1 << 63)
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])
