"""What a tree predicts: its classes or numbers, and which column of a table holds them where the file does not say.

For tables of magnitudes it holds what each record adds to the totals of leaves, and whose record it is. It also tells
which profiles pass each node, that is, stop there or further down.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.tables.matching import has_column, target_in
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Node, Tree


def check_target(model: Model, table: Table, sensitive: str) -> None:
    """Check that a sensitive column can be what the model predicts; the table has the model's names.

    Raises:
        TableError: the file names another target, or none, and the table has no such column.
    """
    target = target_in(model, table)
    if target and sensitive != target:
        near = near_text(sensitive, [target])
        if sensitive not in table.columns:
            raise TableError(
                table.source,
                f"no column {sensitive!r}{near}, and {model.source} predicts {target!r}; use --sensitive {target}",
            )
        if not has_column(table, target):
            raise TableError(
                table.source,
                f"{model.source} predicts {target!r}, which the table lacks; if {sensitive!r} holds it, "
                f"rename the table's column {sensitive!r} to {target!r}, else give the table that has it",
            )
        raise TableError(
            table.source,
            (
                f"{model.source} does not predict {sensitive!r}{near}; use --sensitive {target}, or add "
                "--secret COLUMN to protect another column of the table"
            ),
        )
    if not target and sensitive not in table.columns:
        raise TableError(
            table.source,
            (
                f"there is no column {sensitive!r}{table.meant(sensitive)}, and {model.source} does not "
                "name its target; name the column: --sensitive COLUMN"
            ),
        )


def rival(
    tree: Tree, table: Table, stops: IndexArray, weight: FloatArray, taken: Collection[str]
) -> str:
    """Return another column that the tree's labels are right about as often as about the sensitive one; "" if none.

    Where a file names no target and gives no counts, its labels are all that tells which column it was trained on.
    ``stops`` and ``weight`` (rows,) are where each row stops and how many people it is. The first of ``taken`` is the
    sensitive column; the others are something else.
    """
    sensitive, *_ = taken
    counts = (leaf.class_counts or () for leaf in tree.leaves)
    if tree.has_people and all(count and None not in count for count in counts):
        return ""  # another column's counts would contradict the file
    labels = np.array([_code(tree, node) for node in tree.nodes])[stops]

    def right(name: str) -> float:
        column = table.categories(name, tree.classes)
        places = [
            tree.classes.index(category) if category in tree.classes else -1
            for category in column.categories
        ]
        if sum(place >= 0 for place in places) < 2:
            return -1.0
        said = np.array([*places, -1])[
            column.codes
        ]  # a missing value, whose code is -1, is never right
        return float(weight[(said == labels) & (said >= 0)].sum())

    own = right(sensitive)
    others = (name for name in table.columns if name not in taken)
    return next((name for name in others if right(name) >= max(own, 0.0)), "")


def _code(tree: Tree, node: Node) -> int:
    code = label_of(tree, node)
    return -1 if code is None else code


def label_of(tree: Tree, node: Node) -> int | None:
    """Return the code of the class a node predicts: its score, else the largest of its published class numbers."""
    if isinstance(node.score, str) and node.score in tree.classes:
        return tree.classes.index(node.score)
    numbers = node.class_counts if node.class_counts is not None else node.class_shares
    if numbers is None or any(number is None for number in numbers):
        return None
    return int(np.argmax(np.array(numbers, dtype=float)))


# The numbers of a table's people that a regression model predicts.

MOST_DECIMALS = 9
MOST_STEPS = 2**30
"""Where a range has more steps than that, its numbers are taken for any real ones."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetNumbers:
    """The target of each profile's people: the sum, the least and the greatest value, shape (P,) each.

    All values of the table lie a whole number of ``step`` above the least one; 0 stands for no such step. The
    adversary is taken to know the step and the range: that ages are whole years between 18 and 90 is no secret.
    """

    sums: FloatArray
    least: FloatArray
    most: FloatArray
    step: float

    def select(self, profiles: IndexArray) -> TargetNumbers:
        """Return those of some profiles."""
        return TargetNumbers(
            self.sums[profiles], self.least[profiles], self.most[profiles], self.step
        )

    @property
    def low(self) -> float:
        """The least value in the table."""
        return float(self.least.min(initial=np.inf))

    @property
    def high(self) -> float:
        """The greatest value in the table."""
        return float(self.most.max(initial=-np.inf))


def numbers_of(values: FloatArray, weight: FloatArray, profile_of: IndexArray) -> TargetNumbers:
    """Return what is said of the values of all rows (N,), of which each stands for ``weight`` people of a profile."""
    size = int(profile_of.max(initial=-1)) + 1
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, profile_of, values)
    np.maximum.at(most, profile_of, values)
    sums = np.bincount(profile_of, weight * values, size).astype(np.float64)
    return TargetNumbers(sums, least, most, step_of(np.unique(values)))


def step_of(values: FloatArray) -> float:
    """Return the largest step that all differences of distinct values are whole multiples of, as decimals say; or 0."""
    decimals = 0
    for value in values.tolist():
        exponent = Decimal(repr(value)).normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        decimals = max(decimals, -exponent)
        if decimals > MOST_DECIMALS:
            return 0.0
    scale = 10**decimals
    whole = [int(Decimal(repr(value)) * scale) for value in values.tolist()]
    step = math.gcd(*(each - whole[0] for each in whole)) if whole else 0
    if not step or (whole[-1] - whole[0]) // step > MOST_STEPS:
        return 0.0
    return float(step / scale)


@dataclass(frozen=True, slots=True, eq=False)
class Contributions:
    """What the K records of a table that count add to totals, shape (K,) each.

    ``rows`` are their rows of the table, ``profiles`` the profile of each. A row stands for ``people``, each of whom
    adds one of ``amounts``: the number that the model predicts. ``weights`` are the sampling weights, None where each
    person counts once. ``contributors`` says whose record each is, None where each is somebody else's;
    ``lookalikes`` are two of their ids that differ only in how they are written, where any do.
    """

    rows: IndexArray
    profiles: IndexArray
    people: FloatArray
    amounts: FloatArray | None
    weights: FloatArray | None = None
    contributors: IndexArray | None = None
    lookalikes: tuple[str, str] | None = None


def contributors_of(table: Table, name: str, rows: IndexArray) -> tuple[IndexArray, int]:
    """Return whose record each of these rows is, (K,), and how many contributors have several.

    Raises:
        TableError: there is no such column, or one of the rows says nothing.
    """
    if name not in table.columns:
        problem = f"{table.lacks(name)}; name the column that identifies a person: --id COLUMN"
        raise TableError(table.source, problem)
    column = table.categories(name)
    is_blank = np.array([not text.strip() for text in (*column.categories, "")], dtype=bool)
    unnamed: BoolArray = (column.missing | is_blank[column.codes])[rows]
    if unnamed.any():
        place = table.place(int(rows[np.flatnonzero(unnamed)[0]]))
        problem = (
            f"column {name!r}, {place}: no value, so the person is unknown; give the record an id"
        )
        raise TableError(table.source, problem)
    codes = np.asarray(column.codes[rows], dtype=np.intp)
    return codes, int((np.bincount(codes) > 1).sum())


# The contributions to each leaf, largest first, which rules of concentration are about.


@dataclass(frozen=True, slots=True, eq=False)
class RankedContributions:
    """The contributions to each of ``cells`` totals, shape (R,) each, by cell and there from the largest on.

    In the cell of an entry, ``units`` contributors add one of ``amounts`` each, and ``before`` add as much or more.
    """

    cells: int
    cell: IndexArray
    amounts: FloatArray
    units: FloatArray
    before: FloatArray

    @property
    def totals(self) -> FloatArray:
        """The total of each cell, (cells,)."""
        return self._sums(self.units)

    @property
    def contributors(self) -> FloatArray:
        """How many contribute to each cell, (cells,)."""
        return np.bincount(self.cell, self.units, self.cells).astype(np.float64)

    def largest(self, contributors: int) -> FloatArray:
        """Return what so many of the largest contributors to each cell add together, (cells,)."""
        return self._sums(np.clip(contributors - self.before, 0.0, self.units))

    def without_largest(self, contributors: int) -> FloatArray:
        """Return what all others add, (cells,); summed by itself, so that nothing is lost to a large total."""
        return self._sums(self.units - np.clip(contributors - self.before, 0.0, self.units))

    def _sums(self, units: FloatArray) -> FloatArray:
        return np.bincount(self.cell, self.amounts * units, self.cells).astype(np.float64)


def ranked_contributions(
    cell: IndexArray, amounts: FloatArray, units: FloatArray, cells: int
) -> RankedContributions:
    """Return contributions (R,) to the ``cell`` of each, (R,), in order."""
    order = np.lexsort((-amounts, cell))
    cell, amounts, units = cell[order], amounts[order], units[order]
    ends = np.concatenate([[0.0], np.cumsum(units)])
    first = np.searchsorted(cell, np.arange(cells))
    return RankedContributions(cells, cell, amounts, units, ends[:-1] - ends[first][cell])


def by_contributor(
    cell: IndexArray, amounts: FloatArray, contributors: IndexArray, cells: int
) -> RankedContributions:
    """Return what each contributor adds to each cell with all of its records, in order."""
    size = int(contributors.max(initial=0)) + 1
    pairs, place = np.unique(cell * size + contributors, return_inverse=True)
    sums = np.bincount(place.reshape(-1), amounts, len(pairs)).astype(np.float64)
    return ranked_contributions((pairs // size).astype(np.intp), sums, np.ones(len(pairs)), cells)


@dataclass(frozen=True, slots=True)
class Members:
    """Profiles in the order of the nodes where they stop, so that each subtree is one slice."""

    order: IndexArray
    start: IndexArray
    end: IndexArray
    own_end: IndexArray

    def profiles_at(self, node: int) -> IndexArray:
        """Return the profiles that pass a node, shape (K,)."""
        return self.order[self.place(node)]

    def place(self, node: int) -> slice:
        """Return where the profiles that pass a node lie in what is put in this order."""
        return slice(int(self.start[node]), int(self.end[node]))

    def stops(self, node: int) -> IndexArray:
        """Return the profiles that stop at a node, shape (K,)."""
        return self.order[self.start[node] : self.own_end[node]]


def members(tree: Tree, leaf: IndexArray) -> Members:
    """Return the profiles of every node, given the node where each profile stops, shape (P,)."""
    rank = np.zeros(len(tree.nodes), dtype=np.intp)
    for position, node in enumerate(tree.below(0)):
        rank[node.index] = position
    size = np.ones(len(tree.nodes), dtype=np.intp)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            size[node.parent] += size[node.index]
    order = np.argsort(rank[leaf], kind="stable")
    ranked = rank[leaf][order]
    return Members(
        order,
        np.searchsorted(ranked, rank, side="left").astype(np.intp),
        np.searchsorted(ranked, rank + size, side="left").astype(np.intp),
        np.searchsorted(ranked, rank, side="right").astype(np.intp),
    )
