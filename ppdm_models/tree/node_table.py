"""The nodes of one tree as columns, from which a ``Node`` is made only when someone asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice, repeat
from typing import overload

import numpy as np

from treewarden.ppdm_models.tree.cuts import Cuts, Numbers, Wholes
from treewarden.ppdm_models.tree.impurity import Impurity
from treewarden.ppdm_models.tree.node import Band, Node
from treewarden.ppdm_models.tree.predicate import Predicate

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

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, tuple | NodeTable) and self._nodes() == tuple(other)
        )

    def __hash__(self) -> int:
        return hash(self._nodes())

    def __repr__(self) -> str:
        return repr(self._nodes())

    def __reduce__(self) -> tuple[type[NodeTable], tuple[object, ...]]:
        return NodeTable, tuple(getattr(self, one.name) for one in fields(self) if one.init)

    def _nodes(self) -> tuple[Node, ...]:
        if self._made is None:
            made = tuple(
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
                    repeat(()),
                    repeat(None) if self.spreads is None else self.spreads,
                )
            )
            object.__setattr__(self, "_made", made)
            return made
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
