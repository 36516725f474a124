"""The problem of a file without a table: how many records of each class each cell of the domain has.

Thresholds of learners that cut half way between two records of a node are rows too: somebody has a value on each side.

Groups are cells, alternatives the classes, and one more: that a place for a record stays empty, as nobody knows how
many records a cell has. Each published count of a node is a row over the cells below it. A multiset of records fits the
counts of trees that were grown on all of them if, and only if, it fulfils these rows in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.engine.problem import Problem
from treewarden.audit.membership.cuts import (
    SINGLE_SLACK,
    CutRule,
    PlainThreshold,
    plain_threshold,
)
from treewarden.audit.membership.learners import LearnerCuts, cuts_of
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import (
    NO_COUNTS,
    DomainCells,
    NodeRecords,
    records_by_class,
)
from treewarden.audit.reconstruction.domain import ROUNDING, DeclaredDomain
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.plain_splits import is_inner, totals_of
from treewarden.ppdm_models.tree.tree import Tree

EMPTY = 0
"""The alternative of a place that no record has; those of the classes follow."""
WHOLE_SLACK = 1e-6
"""A published count is taken for a whole number where it is so near to one."""
LARGEST = 2**40
NOT_WHOLE = Undetermined("its counts are no whole numbers of records")
NOT_ALL = Undetermined("its trees count different records, so they do not belong to one table")
STOP_ABOVE = Undetermined("some of its records stop above the leaves, or its counts do not add up")
NO_RECORD = "no table within the public domain has the counts of the file"


def read_counts(trees: Sequence[Tree]) -> list[NodeRecords] | Undetermined:
    """Return how many records of each class each node has, by tree; of one class where none is counted.

    Where a tree publishes sizes only, all records are of one kind: then nothing is said of their classes.
    """
    by_class = [records_by_class(tree) for tree in trees]
    has_classes = all(tree.classes for tree in trees) and not any(
        np.isnan(counts).all() for counts in by_class
    )
    if not has_classes:
        by_class = [totals_of(tree)[:, None] for tree in trees]
    found, everybody = [], []
    for tree, counts in zip(trees, by_class, strict=True):
        is_told = ~np.isnan(counts)
        if not is_told.any():
            return NO_COUNTS
        whole = np.rint(counts)
        if (np.abs(counts - whole) > WHOLE_SLACK)[is_told].any() or (whole[is_told] < 0).any():
            return NOT_WHOLE
        if (whole[is_told] > LARGEST).any():
            return NOT_WHOLE
        inner, parents = is_inner(tree), parents_of(tree.nodes)
        whole = _with_nobody_below(parents, whole)
        if not _adds_up(parents, whole, inner):
            return STOP_ABOVE
        everybody.append(whole[0])
        found.append(NodeRecords(whole, ~inner))
    known = np.stack(everybody)
    if (np.nanmax(known, axis=0, initial=-1) > np.nanmin(known, axis=0, initial=np.inf)).any():
        return NOT_ALL
    return found


def _with_nobody_below(parents: IndexArray, counts: FloatArray) -> FloatArray:
    """Return counts in which nodes that withhold theirs have 0 below a node of 0; nodes stand behind their parents."""
    found = counts.copy()
    for node in np.flatnonzero(np.isnan(counts).any(axis=1)).tolist():
        if node:
            found[node, np.isnan(found[node]) & (found[parents[node]] == 0)] = 0
    return found


def _adds_up(parents: IndexArray, counts: FloatArray, inner: np.ndarray) -> bool:
    """Whether each inner node holds what its children hold, where all of them say it."""
    below = np.zeros_like(counts)
    np.add.at(below, parents[1:], counts[1:])
    is_known = inner[:, None] & ~np.isnan(counts) & ~np.isnan(below)
    return bool((below[is_known] == counts[is_known]).all())


@dataclass(frozen=True, slots=True, eq=False)
class CellRows:
    """Rows over numbers of records by cell and class, taken flat (C m,): ``matrix`` (R, C m) of ones.

    Each sum lies between ``low`` and ``high`` (R,). ``trees`` and ``nodes`` (R,) are where each stands in the file;
    ``most`` (C, m) is the least count of a row that each number is in.
    """

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    trees: IndexArray
    nodes: IndexArray
    most: IntArray

    def fits(self, table: IntArray) -> bool:
        """Whether a table, numbers of records by cell and class (C, m), has the counts."""
        is_inside = ((table >= 0) & (table <= self.most)).all()
        total = self.matrix @ table.reshape(-1)
        return bool(is_inside and ((self.low <= total) & (total <= self.high)).all())

    def problem(self) -> Problem:
        """Return the rows as the engine's problem, with the places that stay empty."""
        classes = self.most.shape[1]
        width = max(classes + 1, 3)
        cell, code = np.divmod(self.matrix.indices.astype(np.int64), classes)
        shape = (len(self.low), len(self.most) * width)
        entries = (self.matrix.data, cell * width + 1 + code, self.matrix.indptr)
        allowed = np.zeros((len(self.most), width), dtype=bool)
        allowed[:, EMPTY] = True
        allowed[:, 1 : 1 + classes] = self.most > 0
        return Problem(
            matrix=sparse.csr_array(entries, shape=shape),
            low=self.low,
            high=self.high,
            output=np.zeros(len(self.low), dtype=np.intp),
            trees=self.trees,
            nodes=self.nodes,
            sizes=self.most.sum(axis=1),
            classes=width,
            allowed=allowed,
        )


def rows_of(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    thresholds: ThresholdFacts | None = None,
) -> CellRows | Undetermined:
    """Return a row for each count of a file that is above 0, and for what thresholds say.

    Raises:
        ContradictionError: a count is of cells that cannot be.
    """
    if thresholds is not None:
        cells = replace(cells, alive=cells.alive & ~thresholds.out[:, None])
    size, classes = cells.alive.shape
    parts = [
        part
        for number, (tree, leaf_counts) in enumerate(zip(trees, leaves, strict=True))
        for part in _rows_of_tree(number, tree, leaf_counts, cells)
    ]
    counted = len(parts)
    most = np.full(size * classes, np.iinfo(np.int64).max)
    for part in parts:
        if not len(part.places):
            raise ContradictionError(NO_RECORD)
        most[part.places] = np.minimum(most[part.places], part.count)
    most[~cells.alive.reshape(-1)] = 0
    if (most == np.iinfo(np.int64).max).any():
        return NO_COUNTS
    parts += [] if thresholds is None else _rows_of_thresholds(thresholds, cells)
    total = len(parts)
    counts = np.array([part.count for part in parts], dtype=np.int64)
    lengths = [len(part.places) for part in parts]
    matrix = sparse.csr_array(
        (
            np.ones(sum(lengths), dtype=np.int64),
            np.concatenate([part.places for part in parts])
            if parts
            else np.zeros(0, dtype=np.intp),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(total, size * classes),
    )
    return CellRows(
        matrix=matrix,
        low=counts,
        high=np.where(np.arange(total) < counted, counts, matrix @ most),
        trees=np.array([part.tree for part in parts], dtype=np.intp),
        nodes=np.array([part.node for part in parts], dtype=np.intp),
        most=most.reshape(size, classes),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _CellRow:
    """One count of one node, and the places (of cells and classes, flat) that it is about."""

    tree: int
    node: int
    count: int
    places: IndexArray


def _rows_of_tree(
    number: int, tree: Tree, leaf_counts: NodeRecords, cells: DomainCells
) -> Iterator[_CellRow]:
    """Yield the counts of leaves, and of inner nodes that say more than the nodes below them."""
    classes = cells.alive.shape[1]
    inside = _cells_below(tree, leaf_counts, cells.stops[number])
    for node, below in inside:
        for code in range(classes):
            count = leaf_counts.counts[node, code]
            if np.isnan(count) or count == 0:
                continue
            here = below[cells.alive[below, code]]
            yield _CellRow(number, node, int(count), here * classes + code)


def _cells_below(
    tree: Tree, leaf_counts: NodeRecords, stops: IndexArray
) -> Iterator[tuple[int, IndexArray]]:
    """Yield each node whose counts are needed, and the cells below it."""
    order = np.argsort(stops, kind="stable")
    nodes = np.flatnonzero(leaf_counts.is_leaf)
    starts = np.searchsorted(stops[order], nodes)
    ends = np.searchsorted(stops[order], nodes, side="right")
    for node, start, end in zip(nodes.tolist(), starts.tolist(), ends.tolist(), strict=True):
        yield node, order[start:end]
    withheld = np.isnan(leaf_counts.counts).any(axis=1)
    parents = parents_of(tree.nodes)
    above: dict[int, list[int]] = {}
    for node in np.flatnonzero(withheld & leaf_counts.is_leaf).tolist():
        while node > 0:
            node = int(parents[node])
            above.setdefault(node, [])
    if not above:
        return
    for leaf in nodes.tolist():
        node = leaf
        while node > 0:
            node = int(parents[node])
            if node in above:
                above[node].append(leaf)
    for node, below in above.items():
        yield node, np.flatnonzero(np.isin(stops, below))


# Thresholds: somebody of a node has a value on each side of its cut, and nobody has one in between.

MOST_VALUES = 1_000
"""Of columns with more possible values, thresholds are not used."""
MOST_HELD = 2**26
"""So many values of cells are held at once."""
MOST_NODES = 200_000
"""Trees with more nodes together are not searched for thresholds."""
FEWEST_VALUES = 3
"""Of a column of two values a cut says no more than that somebody is on each side, as counts do."""
PASSES = 3


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdFacts:
    """What thresholds prove: no record is in the cells ``out`` (C,), and some record in each of ``present``.

    Each of these is the number of a tree, a node of it, and cells. ``is_known`` says of columns in which cells all
    records have one and the same value, (C,).
    """

    out: BoolArray
    present: tuple[tuple[int, int, IndexArray], ...]
    is_known: Mapping[str, BoolArray]


def read_thresholds(
    trees: Sequence[Tree],
    leaves: Sequence[NodeRecords],
    cells: DomainCells,
    declared: DeclaredDomain,
    until: Clock,
) -> ThresholdFacts | None:
    """Return what thresholds prove of cells, where the learner and all possible values of a column are known.

    None where they prove nothing, time is over, or some threshold is half way between no two possible values: then the
    learner made thresholds in another way, and none proves anything.
    """
    if sum(len(tree.nodes) for tree in trees) > MOST_NODES:
        return None
    known_values = _KnownValues(cells, declared)
    cuts = [
        cut
        for number, (tree, counts) in enumerate(zip(trees, leaves, strict=True))
        for cut in _cuts_of_tree(number, tree, counts, known_values, until)
    ]
    columns = known_values.columns
    is_there: BoolArray = np.array(cells.alive.any(axis=1))
    present: list[tuple[int, int, IndexArray]] = []
    for _ in range(PASSES if cuts else 0):
        before, present = _left(is_there, columns), []
        for cut in cuts:
            found = None if until.is_over else cut.read(is_there)
            if found is None:
                return None
            is_there[found[0]] = False
            present += [(cut.tree, cut.node, some) for some in found[1]]
        if _left(is_there, columns) == before:
            break
    known = {name: column.is_known for name, column in columns.items() if column is not None}
    known = {name: is_known for name, is_known in known.items() if is_known.any()}
    out: BoolArray = np.array(cells.alive.any(axis=1) & ~is_there)
    return ThresholdFacts(out, tuple(present), known) if out.any() or present or known else None


def _left(is_there: BoolArray, columns: Mapping[str, _CellValues | None]) -> int:
    """Return how many cells and values of them are left."""
    held = sum(int(column.held.sum()) for column in columns.values() if column is not None)
    return int(is_there.sum()) + held


@dataclass(frozen=True, slots=True, eq=False)
class _CellValues:
    """The possible values of a column, in order as its learner compares them, and which each cell may have, (C, V).

    ``held`` loses, in place, what thresholds exclude; ``had`` (C,) is how many values each cell had before, and
    ``may_lack`` (C,) says in which cells a record may have none.
    """

    values: FloatArray
    held: BoolArray
    had: IntArray
    may_lack: BoolArray

    def is_left_of(self, cut: PlainThreshold) -> BoolArray:
        """Whether each value is below a cut, (V,)."""
        end = cut.threshold
        return np.asarray(self.values <= end if cut.is_closed else self.values < end)

    @property
    def is_known(self) -> BoolArray:
        """In which cells thresholds left one value of several, (C,)."""
        return np.asarray((self.held.sum(axis=1) == 1) & (self.had > 1) & ~self.may_lack)


@dataclass(frozen=True, slots=True, eq=False)
class _CellSide:
    """One side of a cut: the cells there, and whether it is of one record only."""

    cells: IndexArray
    is_one: bool


@dataclass(frozen=True, slots=True, eq=False)
class _CellCut:
    """One cut of a node, what is on both sides of it, and which values are on the left."""

    tree: int
    node: int
    threshold: float
    column: _CellValues
    left: _CellSide
    right: _CellSide
    is_left: BoolArray
    rule: CutRule

    def read(self, is_there: BoolArray) -> tuple[IndexArray, list[IndexArray]] | None:
        """Return in which cells nobody is, and in which of some cells somebody is; None where no two values make it.

        ``is_there`` (C,) says in which cells records may be. Pairs of values lie within each other, as values are
        further apart than any rounding: whoever is within the nearest one is out whichever made the threshold. The
        only record of a side has a value of some pair.
        """
        values, held = self.column.values, self.column.held
        left, right = (side.cells[is_there[side.cells]] for side in (self.left, self.right))
        below = np.flatnonzero((held[left] & self.is_left).any(axis=0))
        above = np.flatnonzero((held[right] & ~self.is_left).any(axis=0))
        if not len(below) or not len(above):
            return None
        near = np.searchsorted(values[above], 2.0 * self.threshold - values[below])
        near = np.clip(near[:, None] + np.arange(-1, 2), 0, len(above) - 1)
        first = np.repeat(below, 3)
        second = above[near.reshape(-1)]
        is_made = self.rule.may_make(values[first], values[second], self.threshold)
        if not is_made.any():
            return None
        first, second = first[is_made], second[is_made]
        both = np.concatenate([left, right])
        held[both, first.max() + 1 : second.min()] = False
        some: list[IndexArray] = []
        for side, here, ends in ((self.left, left, first), (self.right, right, second)):
            has_it = held[here][:, ends].any(axis=1)
            if not has_it.all():
                some.append(here[has_it])
            if side.is_one:
                held[here] &= np.isin(np.arange(len(values)), ends)
        return both[~held[both].any(axis=1) & ~self.column.may_lack[both]], some


def _cuts_of_tree(
    number: int,
    tree: Tree,
    counts: NodeRecords,
    known_values: _KnownValues,
    until: Clock,
) -> Iterator[_CellCut]:
    """Yield the cuts of a tree on columns whose values are all known; none where its learner cuts in another way."""
    learner = cuts_of(tree.learner)
    if learner is None or learner.is_of_table or learner.is_value or learner.may_be_value:
        return
    if tree.format in ROUNDING:
        return
    stops = known_values.cells.stops[number]
    groups, tests = NodeGroups(tree, stops), [node.test for node in tree.nodes]
    records = counts.counts.sum(axis=1)
    for node, children in enumerate(groups.children):
        if until.is_over:
            return
        cut = plain_threshold([tests[child] for child in children])
        if cut is None or not learner.says(cut.threshold):
            continue
        column = known_values.column_values(cut.feature, tree, learner)
        if column is None:
            continue
        first, second = (
            _CellSide(groups.at(child), bool(records[child] == 1)) for child in children
        )
        yield _CellCut(
            tree=number,
            node=node,
            threshold=cut.threshold,
            column=column,
            left=first if cut.is_first_below else second,
            right=second if cut.is_first_below else first,
            is_left=column.is_left_of(cut),
            rule=CutRule(learner),
        )


class _KnownValues:
    """The columns whose values are all known, looked at when some tree cuts them."""

    def __init__(self, cells: DomainCells, declared: DeclaredDomain) -> None:
        self.cells, self.declared = cells, declared
        self.columns: dict[str, _CellValues | None] = {}

    def column_values(self, name: str, tree: Tree, learner: LearnerCuts) -> _CellValues | None:
        """Return which values cells may have of a column; None where they are not known, too many, or too near."""
        if name not in self.columns:
            self.columns[name] = self._find_values(name, tree, learner)
        return self.columns[name]

    def _find_values(self, name: str, tree: Tree, learner: LearnerCuts) -> _CellValues | None:
        column = self.declared.columns.get(name)
        values = () if column is None or column.values is None else column.values
        feature = next((each for each in tree.features if each.name == name), None)
        numbers = np.array(sorted({float(each) for each in values if not isinstance(each, str)}))
        if feature is None or not FEWEST_VALUES <= len(numbers) <= MOST_VALUES:
            return None
        compared = learner.compared(feature, numbers)
        least = 32 * SINGLE_SLACK * np.abs(compared).max()
        cells, domain = self.cells, self.cells.domain
        if len(cells.options) * len(numbers) > MOST_HELD or (np.diff(compared) <= least).any():
            return None
        place = next(n for n, factor in enumerate(domain.factors) if name in factor.columns)
        options = domain.factors[place].columns[name]
        part = cells.options[:, domain.starts[place] : domain.starts[place] + len(options.sizes)]
        lacks = np.asarray(options.samples.missing)
        there = np.flatnonzero(~lacks)
        held = part[:, there[np.searchsorted(options.low[there], numbers, "right") - 1]]
        may_lack: BoolArray = np.array(part[:, lacks].any(axis=1))
        return _CellValues(compared, held, held.sum(axis=1), may_lack)


def _rows_of_thresholds(facts: ThresholdFacts, cells: DomainCells) -> list[_CellRow]:
    """Return that some record is in each of some cells, whichever class it has.

    Raises:
        ContradictionError: none can be in some of them.
    """
    classes = cells.alive.shape[1]
    rows = []
    for tree, node, some in facts.present:
        where, code = np.nonzero(cells.alive[some])
        if not len(where):
            raise ContradictionError(NO_RECORD)
        rows.append(_CellRow(tree, node, 1, some[where] * classes + code))
    return rows
