"""Linear rows over the cells below one node: what the facts say, and outer approximations of split rows.

Every row holds in every world: coefficients are whole numbers, sides are rounded outwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import CellBounds
from treewarden.audit.consistent_tables.facts.facts import Facts, would_have_split
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.engine.problem import IntegerRow
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Criterion

SCALE = 1 << 20
LARGEST_WEIGHT = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class CellRow:
    """``low <= sum(weights * cells) <= high`` over flat cells (position * m + class); a missing side is None.

    Where it is all that a split's candidate says, ``candidate`` is its number, else -1.
    """

    cells: IndexArray
    weights: IntArray
    low: int | None
    high: int | None
    says: str = ""
    candidate: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Rows of equal weights (k,) over cells (n, k), without names; ``high`` is None where no row has such an end."""

    cells: IntArray
    weights: IntArray
    low: Sequence[int]
    high: Sequence[int] | None

    def rows(self) -> Iterator[CellRow]:
        """Yield the rows one by one."""
        highs = [None] * len(self.cells) if self.high is None else self.high
        for cells, low, high in zip(self.cells, self.low, highs, strict=True):
            yield CellRow(cells, self.weights, low, high)


def fact_blocks(facts: Facts, node: int) -> Iterator[RowBlock]:
    """Yield what the profiles and the places below a node say."""
    m, span = facts.classes, facts.span(node)
    if m > 2:
        counts = facts.counts[span].tolist()
        cells = np.arange(span.start * m, span.stop * m).reshape(-1, m)
        yield RowBlock(cells, np.ones(m, dtype=np.int64), counts, counts)
    for place in facts.places.values():
        if not span.start <= place.start < span.stop:
            continue
        rows = np.arange(place.start, place.end) * m
        columns, ones = rows + np.arange(m)[:, None], np.ones(len(rows), dtype=np.int64)
        low, high = ([int(end) for end in ends] for ends in (place.low, place.high))
        yield RowBlock(columns, ones, low, high)
        if place.label >= 0 and not place.is_fixed:
            others = [klass for klass in range(m) if klass != place.label]
            label = np.broadcast_to(columns[place.label], (len(others), len(rows)))
            cells = np.concatenate([label, columns[others]], axis=1)
            leads = [place.leads[klass] for klass in others]
            yield RowBlock(cells, np.concatenate([ones, -ones]), leads, None)


def line_rows(facts: Facts, node: int) -> Iterator[CellRow]:
    """Yield what the linear rows below a node say."""
    below = {step.index for step in facts.tree.below(node)}
    for above, lines in facts.lines.items():
        for line in lines if above in below else ():
            yield _coarse(facts, line)


def _coarse(facts: Facts, line: IntegerRow) -> CellRow:
    """Return a linear row in weights that a solver can hold; where digits are cut, its sides give by as much."""
    cells = line.positions * facts.classes + line.classes
    unit = max((abs(w) for w in line.weights), default=0) // LARGEST_WEIGHT + 1
    weights = [(w + unit // 2) // unit for w in line.weights]
    people = facts.counts[line.positions].tolist()
    cut = sum(
        abs(w - unit * kept) * n for w, kept, n in zip(line.weights, weights, people, strict=True)
    )
    low, high = -(-(line.low - cut) // unit), (line.high + cut) // unit
    return CellRow(cells, np.array(weights, dtype=np.int64), low, high, line.origin.where)


def cuts(
    facts: Facts, bounds: CellBounds, split: AttributeSplits, point: FloatArray, most: int
) -> list[CellRow]:
    """Return rows that a real-valued table (S, m) of the split's positions breaks, for its worst candidates."""
    if split.low is not None:
        return _interval_cuts(facts, split, point, most)
    over = split.excess(point[None])[0] - split.limit
    worst = np.argsort(-over)[:most]
    candidates = [int(a) for a in worst if over[a] > 1e-7 * split.records]
    if not candidates:
        return []
    # All candidates are held against the same branches, whose ends are worked out once.
    here = slice(split.start, split.end)
    low, high = bounds.low[here], bounds.high[here]
    chosen = [
        (branch, branch_ends(facts, split, branch[0], low, high))
        for branch in _branches(split.chosen.of.astype(np.intp), facts.counts[here])
    ]
    return [_secant(facts, (low, high), split, a, point, chosen) for a in candidates]


def _interval_cuts(
    facts: Facts, split: AttributeSplits, point: FloatArray, most: int
) -> list[CellRow]:
    assert split.low is not None
    assert split.high is not None
    count = split.lefts(split.bins.sums(point[None, :, 0]))[0]
    over = np.maximum(split.low - count, count - split.high)
    cell_rows: list[CellRow] = []
    if not (over > 1e-6).any():
        return cell_rows
    for a in np.argsort(-over)[:most].tolist():
        if over[a] > 1e-6:
            cell_rows.append(interval_row(facts, split, a))
    return cell_rows


def interval_row(facts: Facts, split: AttributeSplits, candidate: int) -> CellRow:
    """Return the row of a candidate whose split is told by intervals of one count."""
    assert split.low is not None
    assert split.high is not None
    rows = split.members_on_left(candidate)
    ones = np.ones(len(rows), dtype=np.int64)
    ends = int(split.low[candidate]), int(split.high[candidate])
    says = would_have_split(facts, split, candidate)
    return CellRow(rows * facts.classes, ones, *ends, says, candidate)


Branch = tuple[BoolArray, int]
"""Which of the split's positions (S,) are in a branch, and the branch's records."""
Ends = tuple[IntArray, IntArray]


def _secant(
    facts: Facts,
    bounds: Ends,
    split: AttributeSplits,
    candidate: int,
    point: FloatArray,
    chosen: Sequence[tuple[Branch, Ends]],
) -> CellRow:
    """Return the row with each convex term replaced by its unit secant and each concave one by its chord.

    A unit secant touches a convex function at two neighbouring whole numbers and lies below it at all others, so the
    row is exact at the table's whole-number neighbour. ``bounds`` are the ends of the split's cells, (S, m) each;
    ``chosen`` are the branches of the split that was chosen, with the ends of their counts.
    """
    weights = np.zeros(point.shape, dtype=np.int64)
    parts, known = terms(facts, split, candidate, [branch for branch, _ in chosen])
    ends_of_chosen = {id(rows): ends for (rows, _), ends in chosen}
    for factor, rows, records in parts:
        ends = ends_of_chosen.get(id(rows)) or branch_ends(facts, split, rows, *bounds)
        # Summed along what lies side by side, each class is rounded as if it were summed alone.
        at = np.ascontiguousarray(point[rows].T).sum(axis=1)
        lines = [
            _line(split.criterion, factor, records, (low, high), here)
            for low, high, here in zip(*(each.tolist() for each in (*ends, at)), strict=True)
        ]
        weights[rows] += np.array([slope for slope, _ in lines], dtype=np.int64)
        for _, intercept in lines:
            known -= intercept
    flat = weights.ravel()
    cells = np.flatnonzero(flat)
    says = would_have_split(facts, split, candidate)
    return CellRow(
        cells + split.start * facts.classes, flat[cells], None, math.floor(known * SCALE) + 1, says
    )


def _branches(group: IndexArray, counts: IntArray) -> list[Branch]:
    """Return the branches of positions with these numbers (S,) and records (S,), in the order of their numbers."""
    found = []
    for branch in np.flatnonzero(np.bincount(group)).tolist():
        rows = np.asarray(group == branch)
        found.append((rows, int(counts[rows].sum())))
    return found


def terms(
    facts: Facts,
    split: AttributeSplits,
    candidate: int,
    chosen: Sequence[Branch] | None = None,
) -> tuple[list[tuple[float, BoolArray, int]], float]:
    """Return a row as a sum of factor * f(count) over branches and classes, at most a known number.

    Each part is a factor, which of the split's positions are in the branch, and the branch's records. The number is
    raised by what floating point may miss, so that the row holds in every world. ``chosen`` are the branches of the
    split that was chosen, where somebody has them.
    """
    ratio = float(split.ratio[candidate])
    counts = facts.counts[split.start : split.end]
    if chosen is None:
        chosen = _branches(split.chosen.of.astype(np.intp), counts)
    groupings = [(1.0, _branches(split.side(candidate)[split.bins.of], counts)), (-ratio, chosen)]
    if ratio != 1.0:
        groupings.append((ratio - 1.0, _branches(np.zeros(len(counts), dtype=np.intp), counts)))
    known = split.limit + 8 * float(split.doubt[candidate])
    parts = []
    for factor, branches in groupings:
        for rows, records in branches:
            if split.criterion is not Criterion.GINI:
                known += factor * records * math.log(max(records, 1))
            parts.append((factor, rows, records))
    return parts, known


def value_of(criterion: Criterion, count: int, records: int) -> float:
    """Return f(count) in a branch of so many records: minus the part of n * E that depends on the count."""
    if criterion is Criterion.GINI:
        return count * count / records
    return count * math.log(max(count, 1))


def branch_ends(
    facts: Facts, split: AttributeSplits, rows: BoolArray, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the ends of each class's count in a branch; a place that lies in it whole gives its own."""
    leaves = slice(*np.searchsorted(facts.starts, (split.start, split.end)))
    starts = facts.starts[leaves] - split.start
    is_whole = np.logical_and.reduceat(rows, starts)[:, None]
    least, most = (np.add.reduceat(end * rows[:, None], starts) for end in (low, high))
    leaf_low, leaf_high = (end[leaves] for end in facts.ends)
    leaf_most = np.where(is_whole, leaf_high, np.minimum(most, leaf_high))
    leaf_least = np.where(is_whole, leaf_low, least)
    return (
        np.maximum(least.sum(axis=0), leaf_least.sum(axis=0)),
        np.minimum(most.sum(axis=0), leaf_most.sum(axis=0)),
    )


def _line(
    criterion: Criterion, factor: float, records: int, ends: tuple[int, int], at: float
) -> tuple[int, float]:
    """Return (slope times SCALE, intercept) of a line below factor * f(u) at every whole u between the ends."""

    def term(u: int) -> float:
        return factor * value_of(criterion, u, records)

    low, high = ends
    if low >= high:
        return 0, term(low)
    if factor < 0:
        slope = round((term(high) - term(low)) / (high - low) * SCALE)
        return slope, min(term(low) - slope * low / SCALE, term(high) - slope * high / SCALE)
    k = min(max(math.floor(at + 1e-9), low), high - 1)
    slope = round((term(k + 1) - term(k)) * SCALE)
    while k > low and term(k - 1) - slope * (k - 1) / SCALE < term(k) - slope * k / SCALE:
        k -= 1
    top = k + 1
    while (
        top < high and term(top + 1) - slope * (top + 1) / SCALE < term(top) - slope * top / SCALE
    ):
        top += 1
    gaps = [term(u) - slope * u / SCALE for u in range(k, top + 1)]
    return slope, min(gaps)
