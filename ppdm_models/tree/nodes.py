"""The nodes of one tree as columns, from which a ``Node`` is made only when someone asks for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import islice, repeat
from typing import overload

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.tree.predicate import Always, NumericTest, Predicate, features_of

# How mixed the classes of a node's records are, where a file prints it, and which counts of classes it allows.

BITS = math.log(2)
"""One bit in nats."""
FLOAT_SLACK = 1e-9
"""How far the arithmetic of a producer may be from ours."""


class Criterion(StrEnum):
    """How the learner compared the candidates for a split."""

    GINI = "gini"
    ENTROPY = "entropy"
    GAIN_RATIO = "gain-ratio"


@dataclass(frozen=True, slots=True)
class Impurity:
    """A published impurity: it lies between ``low`` and ``high``, ends included, as the printed digits allow.

    Gini is 1 less the sum of the squared shares; entropy is in nats, whatever base the producer takes.
    """

    criterion: Criterion
    low: float
    high: float

    def __post_init__(self) -> None:
        if self.criterion is Criterion.GAIN_RATIO:
            raise ValueError("a gain ratio is of a split, not of a node")
        if not 0 <= self.low <= self.high < math.inf:
            raise ValueError(f"no impurity lies between {self.low} and {self.high}")


def printed(criterion: Criterion, value: float, decimals: int, unit: float = 1.0) -> Impurity:
    """Return an impurity that was rounded to so many decimals; ``unit`` is what the producer's 1 is here (``BITS``).

    Raises:
        ValueError: it is negative by more than rounding, or no finite number.
    """
    half = 0.5 * 10.0**-decimals + FLOAT_SLACK
    return Impurity(criterion, max(0.0, value - half) * unit, (value + half) * unit)


def impurity_of(criterion: Criterion, counts: Sequence[float]) -> float:
    """Return the impurity of a node with these counts of its classes; 0 where it has no records."""
    total = math.fsum(counts)
    shares = [count / total for count in counts if count > 0]
    if criterion is Criterion.GINI:
        return max(0.0, 1.0 - math.fsum(share * share for share in shares)) if shares else 0.0
    return max(0.0, -math.fsum(share * math.log(share) for share in shares))


def fits(counts: Sequence[float], impurity: Impurity) -> bool:
    """Return whether whole counts of a node's classes have an impurity as published: the exact statement."""
    found = impurity_of(impurity.criterion, counts)
    return impurity.low - FLOAT_SLACK <= found <= impurity.high + FLOAT_SLACK


# A split that the learner compared and did not take, where a file says how good it would have been (rpart).


@dataclass(frozen=True, slots=True)
class OtherSplit:
    """The tests of both sides, and the ends of its improvement by gini, as the printed digits allow.

    The improvement is in records: the gini of the node times its records, less the same of both sides.
    """

    left: Predicate
    right: Predicate
    low: float
    high: float


# One node of a tree, and all that was published about it.

WHERE_BANDS = (
    "this node has ranges of class counts (bands); only a leaf may have them, and such a leaf may not also "
    "have exact counts or shares"
)
Band = tuple[float, float]
"""The least and the most that a count can be."""


@dataclass(frozen=True, slots=True)
class LearnerFigures:
    """What the learner printed at a node beside what is published of its records.

    ``other_splits`` is what it says of splits that were not taken, and ``spread`` between which ends the mean squared
    distance of its records' numbers from their mean lies.
    """

    other_splits: tuple[OtherSplit, ...] = ()
    spread: Band | None = None


NO_FIGURES = LearnerFigures()


@dataclass(frozen=True, slots=True)
class Node:
    """One node and all that was published about it.

    ``test`` is the condition under which the parent sends a record here. ``class_counts`` follows the tree's classes;
    an entry is None where that count is not published. ``class_shares`` are published fractions without counts.
    ``outputs`` are the numbers that a leaf of a boosted or multi-target tree adds to each output of its ensemble.
    ``bands`` stand in a leaf in place of its counts: what each class's count lies between, ends included.
    ``impurity`` is how mixed the classes of all records that pass are, where that is printed.
    ``line`` is where the node stands in its file, ``figures`` what the learner printed beside: no part of its value.
    """

    index: int
    name: str
    parent: int | None
    children: tuple[int, ...] = ()
    test: Predicate = field(default_factory=Always)
    score: str | float | None = None
    records: float | None = None
    class_counts: tuple[float | None, ...] | None = None
    class_shares: tuple[float, ...] | None = None
    outputs: tuple[float, ...] | None = None
    default_child: int | None = None
    line: int | None = field(default=None, compare=False)
    bands: tuple[Band | None, ...] | None = None
    impurity: Impurity | None = None
    figures: LearnerFigures = field(default=NO_FIGURES, compare=False)

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return not self.children


# The tests that lead to the nodes of a binary tree, as columns: a test is made only when someone asks for it.

Flags = BoolArray
Numbers = FloatArray
Wholes = IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Cuts(Sequence[Predicate]):
    """One test per node: its feature's number is below an end or, where ``upper``, above it.

    ``features`` are places in ``names``, -1 at the root; ``closed`` says that the end itself is below. ``others`` are
    the tests that are none of this, by node.
    """

    names: tuple[str, ...]
    features: Wholes
    ends: Numbers
    upper: Flags
    closed: Flags
    others: Mapping[int, Predicate]

    def plainly_split(self, parents: Wholes) -> bool:
        """Whether each inner node has two children: for the numbers of a feature below an end, and for the others."""
        below = np.flatnonzero(parents >= 0)
        pairs = below[np.argsort(parents[below], kind="stable")]
        if len(pairs) % 2 or (self.features[pairs] < 0).any():
            return False
        one, two = pairs[::2], pairs[1::2]
        sizes = np.bincount(parents[below], minlength=1)
        return bool(
            np.isin(sizes, (0, 2)).all()
            and (self.features[one] == self.features[two]).all()
            and (self.ends[one] == self.ends[two]).all()
            and (self.closed[one] == self.closed[two]).all()
            and (self.upper[one] != self.upper[two]).all()
        )

    def tested_features(self) -> set[str]:
        """Return the names of the features that the tests ask for."""
        is_cut = self.features >= 0
        is_cut[list(self.others)] = False
        found = {self.names[place] for place in np.unique(self.features[is_cut]).tolist()}
        return found | {name for test in self.others.values() for name in features_of(test)}

    def __len__(self) -> int:
        return len(self.features)

    @overload
    def __getitem__(self, place: int) -> Predicate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Predicate, ...]: ...
    def __getitem__(self, place: int | slice) -> Predicate | tuple[Predicate, ...]:
        return tuple(self)[place]

    def __iter__(self) -> Iterator[Predicate]:
        columns = (self.features, self.ends, self.upper, self.closed)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for node, (feature, end, upper, closed) in enumerate(rows):
            if node in self.others:
                yield self.others[node]
            elif feature < 0:
                yield Always()
            elif upper:
                yield NumericTest(self.names[feature], low=end, low_closed=not closed)
            else:
                yield NumericTest(self.names[feature], high=end, high_closed=closed)


Vectors = Numbers | Sequence[tuple[float, ...] | None]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NodeTable(Sequence[Node]):
    """What ``Node`` holds, one row per node in document order; it equals the tuple of its nodes.

    In ``parents`` and ``default_children`` -1 stands for no node; a NaN, or a row of them, for numbers that are not
    published. ``class_counts``, ``class_shares`` and ``outputs`` have the shapes (N, m), (N, m) and (N, outputs). All
    nodes are made together when the first is asked for, and kept.
    """

    parents: Wholes
    names: Sequence[str]
    tests: Sequence[Predicate]
    scores: Sequence[str | float | None] | Numbers
    records: Numbers | None = None
    class_counts: Numbers | None = None
    class_shares: Numbers | None = None
    outputs: Vectors | None = None
    default_children: Wholes | None = None
    lines: Sequence[int] | None = None
    bands: Sequence[tuple[Band | None, ...] | None] | None = None
    impurities: Sequence[Impurity | None] | None = None
    spreads: Sequence[Band | None] | None = None
    _made: tuple[Node, ...] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        size = len(self.parents)
        earlier = self.parents < np.arange(size)
        if not earlier.all() or (self.parents >= 0).sum() != size - 1:
            raise ValueError("a node does not stand behind its parent")
        for column in fields(self)[1:]:
            entries = getattr(self, column.name)
            if entries is not None and len(entries) != size:
                raise ValueError(f"{len(entries)} {column.name} for {size} nodes")

    def class_widths(self) -> Iterator[tuple[str, int]]:
        """Yield how many class numbers nodes have, by the name of the first that has any."""
        for numbers in (self.class_counts, self.class_shares):
            if numbers is not None:
                yield self.names[0], numbers.shape[1]
        for name, bands in zip(self.names, self.bands or (), strict=False):
            if bands is not None:
                yield name, len(bands)

    def plainly_splits(self) -> bool:
        """Whether each inner node is seen to have two children, for the numbers below an end and for the others."""
        return isinstance(self.tests, Cuts) and self.tests.plainly_split(self.parents)

    def __len__(self) -> int:
        return len(self.parents)

    @overload
    def __getitem__(self, place: int) -> Node: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, place: int | slice) -> Node | tuple[Node, ...]:
        return self._nodes()[place]

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes())

    def __reversed__(self) -> Iterator[Node]:
        return reversed(self._nodes())

    def __eq__(self, table: object) -> bool:
        return self is table or (
            isinstance(table, tuple | NodeTable) and self._nodes() == tuple(table)
        )

    def __hash__(self) -> int:
        return hash(self._nodes())

    def __repr__(self) -> str:
        return repr(self._nodes())

    def __reduce__(self) -> tuple[type[NodeTable], tuple[object, ...]]:
        return NodeTable, tuple(getattr(self, one.name) for one in fields(self) if one.init)

    def _nodes(self) -> tuple[Node, ...]:
        if self._made is None:
            nodes = tuple(
                map(
                    Node,
                    range(len(self)),
                    self.names,
                    _places(self.parents),
                    _children(self.parents),
                    self.tests,
                    _scores(self.scores),
                    _numbers(self.records),
                    _rows(self.class_counts),
                    _rows(self.class_shares),
                    _vectors(self.outputs),
                    _places(self.default_children),
                    repeat(None) if self.lines is None else self.lines,
                    repeat(None) if self.bands is None else self.bands,
                    repeat(None) if self.impurities is None else self.impurities,
                    _figures(self.spreads),
                )
            )
            object.__setattr__(self, "_made", nodes)
            return nodes
        return self._made


def parents_of(nodes: Sequence[Node]) -> Wholes:
    """Return the parent of each node, -1 at the root, (N,); where there are columns, no node is made."""
    if isinstance(nodes, NodeTable):
        return nodes.parents
    return np.array([-1 if node.parent is None else node.parent for node in nodes], dtype=np.int64)


def scores_of(nodes: Sequence[Node]) -> list[str | float | None]:
    """Return what each node predicts; where there are columns, no node is made."""
    if isinstance(nodes, NodeTable):
        return list(_scores(nodes.scores))
    return [node.score for node in nodes]


def _places(column: Wholes | None) -> Iterable[int | None]:
    if column is None:
        return repeat(None)
    return (None if place < 0 else place for place in column.tolist())


def _children(parents: Wholes) -> Iterator[tuple[int, ...]]:
    by_parent = iter((np.argsort(parents[1:], kind="stable") + 1).tolist())
    sizes = np.bincount(parents[1:], minlength=len(parents)).tolist()
    return (tuple(islice(by_parent, size)) for size in sizes)


def _scores(column: Sequence[str | float | None] | Numbers) -> Iterable[str | float | None]:
    return _numbers(column) if isinstance(column, np.ndarray) else column


def _numbers(column: Numbers | None) -> Iterable[float | None]:
    if column is None:
        return repeat(None)
    return (None if number != number else number for number in column.tolist())


def _vectors(column: Vectors | None) -> Iterable[tuple[float | None, ...] | None]:
    return _rows(column) if column is None or isinstance(column, np.ndarray) else column


def _figures(spreads: Sequence[Band | None] | None) -> Iterable[LearnerFigures]:
    if spreads is None:
        return repeat(NO_FIGURES)
    return (NO_FIGURES if spread is None else LearnerFigures(spread=spread) for spread in spreads)


def _rows(table: Numbers | None) -> Iterable[tuple[float | None, ...] | None]:
    """Return each row of numbers as a tuple; None for one that is all NaN."""
    if table is None:
        return repeat(None)
    gaps = np.isnan(table)
    if not gaps.any():
        return map(tuple, table.tolist())
    told = np.flatnonzero(~gaps.all(axis=1))
    rows: list[tuple[float | None, ...] | None] = [None] * len(table)
    for place, row in zip(told.tolist(), table[told].tolist(), strict=True):
        rows[place] = tuple(None if number != number else number for number in row)
    return rows
