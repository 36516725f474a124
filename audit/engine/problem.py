"""The one problem that every kind of model and of adversary poses: rows over groups of people, in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from treewarden.audit.bounds import Bounds, PositionSpan
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

if TYPE_CHECKING:  # scipy takes as long to import as an audit of a small tree
    from scipy import sparse

    from treewarden.audit.facts.rows import Origin


@dataclass(frozen=True, slots=True)
class IntegerCellRows:
    """Rows ``low <= matrix @ x[:, output] <= high`` over cells, in whole numbers: matrix (R, C), the others (R,)."""

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    output: IndexArray

    def over(self, width: int) -> IntegerCellRows:
        """Return the rows over numbers (C w,), w to a cell; of one to a cell, it is of the second class."""
        if width == 1:
            return self
        columns = self.matrix.indices.astype(np.int64) * width
        columns += np.repeat(self.output, np.diff(self.matrix.indptr))
        shape = (len(self.low), self.matrix.shape[1] * width)
        matrix = type(self.matrix)((self.matrix.data, columns, self.matrix.indptr), shape=shape)
        return IntegerCellRows(matrix, self.low, self.high, self.output)

    def fits(self, numbers: IntArray) -> bool:
        """Whether numbers (C w,) fulfil the rows, which are over as many."""
        total = self.matrix @ numbers
        return bool(((self.low <= total) & (total <= self.high)).all())

    def remaining_rows(
        self, places: IndexArray, fixed: IntArray
    ) -> Iterator[tuple[list[tuple[int, int]], int, int]]:
        """Yield what fixed numbers (C w,) leave of rows over those at ``places``: coefficients by place, and ends."""
        there = self.matrix @ fixed
        matrix = self.matrix[:, places].tocsr()
        for row in range(len(self.low)):
            start, end = matrix.indptr[row], matrix.indptr[row + 1]
            weights = list(
                zip(
                    matrix.indices[start:end].tolist(), matrix.data[start:end].tolist(), strict=True
                )
            )
            if weights:
                yield weights, int(self.low[row] - there[row]), int(self.high[row] - there[row])


@dataclass(frozen=True, slots=True, eq=False)
class AmountRange:
    """Of the people of the groups that ``has`` (C,) says, somebody has the amount ``low``, and somebody ``high``."""

    has: BoolArray
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """That each person has an amount, of which x[c, 0] is the sum over a group: counted in units from 0 to ``span``.

    The amount of one person of a group lies between ``least`` and ``most`` (C,). Amounts are whole numbers of units, or
    real ones where ``is_whole`` does not hold: then all ends are rounded outwards. ``room`` is how many units rounding
    may have moved an end of a range by, and ``margin`` a known sum.
    """

    least: IntArray
    most: IntArray
    span: int
    is_whole: bool
    ranges: tuple[AmountRange, ...] = ()
    room: int = 0
    margin: int = 0


MOST_WEIGHT = 2**31
MOST_SUM = 2**62
"""Up to this, weight times records, sums of 64 bits are exact."""


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRow:
    """``low <= sum(weights * table[positions, classes]) <= high`` in whole numbers; ``node`` is the lowest above."""

    node: int
    positions: IndexArray
    classes: IndexArray
    weights: tuple[int, ...]
    low: int
    high: int
    origin: Origin
    _short: IntArray | None = field(default=None, init=False)
    _most_records: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        # Most weights are 1 and -1, or hundredths of a survey, and their sums are asked for very often.
        most = max(map(abs, self.weights), default=0)
        if most <= MOST_WEIGHT:
            object.__setattr__(self, "_short", np.array(self.weights, dtype=np.int64))
            object.__setattr__(self, "_most_records", MOST_SUM // max(most, 1))

    def value(self, table: IntArray, start: int = 0) -> int:
        """Return the sum for a table whose first row is the profile at position ``start``."""
        cells = table[self.positions - start, self.classes]
        if self._short is not None and int(np.abs(cells).sum()) <= self._most_records:
            return int(self._short @ cells)
        return sum(w * x for w, x in zip(self.weights, cells.tolist(), strict=True))

    def holds(self, table: IntArray, start: int = 0) -> bool:
        """Return whether a table obeys the row."""
        return self.low <= self.value(table, start) <= self.high

    def holds_each(self, tables: IntArray, start: int = 0) -> BoolArray:
        """Return which of some tables (K, S, m) obey the row, (K,)."""
        cells = tables[:, self.positions - start, self.classes]
        most = int(np.abs(cells).sum(axis=1).max(initial=0))
        if self._short is None or most > self._most_records:
            return np.array([self.holds(table, start) for table in tables], dtype=bool)
        values = cells @ self._short
        return np.asarray((values >= self.low) & (values <= self.high))


class SplitComparisons(PositionSpan, Protocol):
    """Rows of one node: no candidate split of an attribute is better than the chosen one. They compare impurities."""

    @property
    def node(self) -> int:
        """The node whose split was chosen."""

    def holds(self, tables: IntArray) -> BoolArray:
        """Return whether each table (K, S, m) of the groups from ``start`` to before ``end`` obeys every row; exact."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactRows:
    """Rows that no sparse matrix holds: coefficients of any size, and what compares impurities or two classes.

    In leaf l the class ``label[l]`` leads each other class k by ``leads[l, k]`` people at least; -1 for no class.
    """

    label: IndexArray
    leads: IntArray
    lines: tuple[IntegerRow, ...] = ()
    splits: tuple[SplitComparisons, ...] = ()

    def without_leads(self, leaves: BoolArray | slice = slice(None)) -> ExactRows:
        """Return the same where no class is known to lead in some leaves."""
        label = self.label.copy()
        label[leaves] = -1
        return replace(self, label=label)


@dataclass(frozen=True, slots=True)
class SpanRows:
    """A matrix (R, ``groups``) of ones for the groups from ``starts`` to before ``ends`` (R,)."""

    starts: IndexArray
    ends: IndexArray
    groups: int

    @property
    def shape(self) -> tuple[int, int]:
        """Return as many rows and columns as the sparse matrix has."""
        return len(self.starts), self.groups

    def to_sparse(self) -> sparse.csr_array:
        """Return the sparse matrix."""
        from scipy import sparse  # as above

        lengths = self.ends - self.starts
        ends = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.arange(int(ends[-1])) + np.repeat(self.starts - ends[:-1], lengths)
        return sparse.csr_array(
            (np.ones(len(indices), dtype=np.int64), indices, ends), shape=self.shape
        )


ALL_PEOPLE = -1
"""The tree of a row that is about everybody of a release; its node is the number of the release."""
NEW_PEOPLE = -2
"""The tree of a row about those whom one release has and an earlier one has not; its node counts such pairs."""
KNOWN_FACT = -3
"""The tree of a row that is known from elsewhere; its node is the number of the fact."""
ROW_COLUMNS = ("low", "high", "output", "trees", "nodes")
"""What a problem says of each row beside the matrix."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Rows over groups: in every table that fits, ``low <= sum of x[groups of a row, class of the row] <= high``.

    A group is people whom an adversary cannot tell apart; C groups have ``sizes`` people, shape (C,), and x[c, k] of
    them have class k, of ``classes`` many: their alternatives. ``matrix`` is sparse (CSR), shape (R, C), of zeros and
    ones; where rows are of draws, of how often each person of a group was drawn. ``low`` and ``high`` are whole
    numbers, shape (R,), proved of the number of people, or of draws; ``output`` (R,) is the class that a row counts. Of
    two classes only the second one need be counted. The origin of a row is a leaf, of ``trees`` and ``nodes`` (R,); a
    tree below 0 is ``ALL_PEOPLE``, ``NEW_PEOPLE`` or ``KNOWN_FACT``. ``scaled`` are rows over the same numbers whose
    coefficients are others. With ``amounts`` there is one alternative, and x is what the people of a group add up to.
    ``incomplete`` says what is known of the groups beyond the rows, "" where nothing is: what the rows prove holds,
    but neither an estimate nor a table that fits the rows shows what an adversary may think.

    Where each group has alternatives of its own, ``allowed`` (C, m) says which it has;
    then there are three at least, the matrix is over all numbers of groups and alternatives taken flat,
    (R, C m), and ``output`` is of no use. ``prior`` (C, m) is how likely each is before the rows, which the estimate
    departs from; without it all are alike.

    Of one tree ``matrix`` is ``SpanRows``, a row for each class of each leaf, and ``exact`` are the other rows.
    """

    matrix: sparse.csr_array
    low: IntArray
    high: IntArray
    output: IndexArray
    trees: IndexArray
    nodes: IndexArray
    sizes: IntArray
    classes: int
    scaled: IntegerCellRows | None = None
    incomplete: str = ""
    amounts: Amounts | None = None
    allowed: BoolArray | None = None
    prior: FloatArray | None = None
    exact: ExactRows | None = None

    def __post_init__(self) -> None:
        places = len(self.sizes) * (1 if self.allowed is None else self.classes)
        if self.matrix.shape != (len(self.low), places):
            raise ValueError("rows and groups do not fit the matrix")
        if self.allowed is not None and self.classes < 3:
            raise ValueError("groups with alternatives of their own have three at least")
        if self.exact is None and (self.low > self.high).any():
            raise ValueError("a row that nothing can fulfil")

    @property
    def people(self) -> IntArray:
        """How many people each row is about, or draws of people, shape (R,)."""
        each = 1 if self.allowed is None else self.classes
        return np.asarray(self.matrix @ np.repeat(self.sizes, each))

    @property
    def parts(self) -> IndexArray:
        """Where the rows of each tree begin; a row that is of no tree stands for itself."""
        is_first = np.ones(len(self.trees), dtype=bool)
        is_first[1:] = (self.trees[1:] != self.trees[:-1]) | (self.trees[1:] < 0)
        return np.flatnonzero(is_first)

    def select(self, rows: IndexArray | BoolArray) -> Problem:
        """Return the same with some of the rows."""
        parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in ROW_COLUMNS}
        return replace(self, matrix=self.matrix[rows], **parts)

    def stacked(self, added: Problem) -> Problem:
        """Return the same with the rows of another one over the same groups."""
        parts: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(added, name)])
            for name in ROW_COLUMNS
        }
        from scipy import sparse  # as above

        matrix = sparse.vstack([self.matrix, added.matrix], format="csr")
        return replace(self, matrix=sparse.csr_array(matrix), **parts)


def breaking(rows: Problem, truth: IntArray) -> IndexArray:
    """Return the rows that the true values, by group and class (C, m), do not fulfil."""
    if rows.allowed is not None:
        total = rows.matrix @ truth.reshape(-1)
        return np.flatnonzero((total < rows.low) | (total > rows.high))
    sums = np.empty(len(rows.low), dtype=np.int64)
    for output in np.unique(rows.output).tolist():
        these = np.flatnonzero(rows.output == output)
        sums[these] = rows.matrix[these] @ truth[:, output]
    return np.flatnonzero((sums < rows.low) | (sums > rows.high))


class How(StrEnum):
    """By what a cell was proved to have one class: the first of them that proves it."""

    LEAF = "leaf"
    PROPAGATION = "propagation"
    CERTIFICATE = "certificate"
    SOLVER = "solver"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The maximum-entropy estimate: shares of each class by group, ``values`` (C, m), rows sum to 1.

    ``bound`` is proved: no table that fits has more entropy (nats, summed over people); ``gap`` is how far the
    estimate's own entropy may be below it, and ``residual`` how many people a row is missed by at most. Where a problem
    has a prior, the entropy is that relative to it: sums of ``-x log(x / prior)``.
    """

    values: FloatArray
    bound: float
    gap: float
    residual: float


@dataclass(frozen=True, slots=True, eq=False)
class ProblemBounds(Bounds[IntArray]):
    """Integer reasoning over all rows of a problem: ends of x[c, k] by group and class, (C, m); of amounts m is 1.

    ``row`` (C,) is the row that a group was settled by, -1 where none alone did; ``how`` says by what each certain
    group was proved ("" elsewhere). ``problem`` is why no table can fit, "" where one may. ``left`` is why something
    was not decided. Of amounts, ``apart_low`` and ``apart_high`` (C,) are how far tables were found to go in which
    other groups' people have the ends of each range.
    """

    how: tuple[How | str, ...]
    row: IndexArray
    estimate: Estimate | Undetermined
    problem: str = ""
    left: tuple[str, ...] = ()
    seconds: float = 0.0
    apart_low: IntArray | None = None
    apart_high: IntArray | None = None
