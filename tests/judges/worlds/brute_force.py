"""All worlds of a small case by listing every table: shares no arithmetic with the product.

Rows come from `tests.judges.estimate.definitions`; tables have shape (K, P, m). Floats decide a row where two
splits differ by more than 1e-9 per record, which is what the product lets pass as a learner's rounding; else
whole numbers do.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tests.judges.estimate.definitions import LinearRow, SplitRow
from tests.judges.worlds.cases import Told

ROUNDING = 1e-9
RECORDS = 1e-6
MOST_TABLES = 100_000


@dataclass(frozen=True)
class Every:
    """All worlds, how many data sets of told-apart records each stands for, and both numbers without split rows."""

    tables: np.ndarray
    ways: list[int]
    worlds_without_splits: int
    sets_without_splits: int

    @property
    def is_empty(self) -> bool:
        """Whether no table fits."""
        return not self.ways

    @property
    def bits(self) -> float:
        """How many bits the split rows reveal."""
        return math.log2(self.sets_without_splits) - math.log2(sum(self.ways))

    def posterior(self, counts: np.ndarray) -> np.ndarray:
        """Return the exact share of each class, every data set equally likely."""
        total = sum(self.ways)
        sums = sum(
            table.astype(object) * w for table, w in zip(self.tables, self.ways, strict=True)
        )
        return np.array(
            [
                [float(Fraction(int(cell), total * int(n))) for cell in row]
                for row, n in zip(sums, counts, strict=True)
            ]
        )


def every_world(case: Told) -> Every | None:
    """Return all worlds of a case, or None where there are too many tables."""
    counts = case.truth.sum(axis=1).astype(int)
    lines = [row for row in case.rows if isinstance(row, LinearRow)]
    tables = _tables(counts, case.truth.shape[1], case.system.case.population.leaf, lines)
    if tables is None:
        return None
    ways = [_ways(counts, table) for table in tables.tolist()]
    good = np.ones(len(tables), dtype=bool)
    for row in case.rows:
        if isinstance(row, SplitRow) and good.any() and not _is_dropped(row, case):
            good[good] = _holds(row, tables[good], row.name in case.strict_rows)
    kept = [ways[k] for k in np.flatnonzero(good)]
    return Every(tables[good], kept, len(tables), sum(ways))


def _is_dropped(row: SplitRow, case: Told) -> bool:
    """Whether the truth itself breaks the row under the strict rule, so that whoever sees it leaves the row out."""
    return (
        row.name in case.strict_rows
        and case.sees_truth
        and not _holds(row, case.truth[None].astype(int), True)[0]
    )


def _tables(
    counts: np.ndarray, classes: int, leaf: np.ndarray, lines: list[LinearRow]
) -> np.ndarray | None:
    """Return every table that obeys the linear rows: profile by profile, those within a leaf as soon as it is done."""
    order = np.argsort(leaf, kind="stable")
    found = np.zeros((1, len(counts), classes), dtype=int)
    open_ = list(lines)
    for place, q in enumerate(order):
        ways = itertools.product(range(counts[q] + 1), repeat=classes)
        step = np.array([row for row in ways if sum(row) == counts[q]])
        if len(found) * len(step) > MOST_TABLES:
            return None
        found = np.repeat(found, len(step), axis=0)
        found[:, q] = np.tile(step, (len(found) // len(step), 1))
        later = order[place + 1 :]
        for row in [row for row in open_ if not row.weights[later].any()]:
            total = np.tensordot(found, row.weights, 2)
            found = found[(total >= row.low - RECORDS) & (total <= row.high + RECORDS)]
        open_ = [row for row in open_ if row.weights[later].any()]
    return found


def _ways(counts: np.ndarray, table: list[list[int]]) -> int:
    up = math.prod(math.factorial(int(n)) for n in counts)
    return up // math.prod(math.factorial(cell) for row in table for cell in row)


def _holds(row: SplitRow, tables: np.ndarray, strict: bool) -> np.ndarray:
    """Return whether the chosen split is no worse, or better (strict), in each table."""
    gap = _gap(row, tables)
    if not strict:
        return gap >= -ROUNDING
    good = gap > ROUNDING
    for k in np.flatnonzero(np.abs(gap) <= ROUNDING):
        good[k] = _is_better(row, tables[k])
    return good


def _gap(row: SplitRow, tables: np.ndarray) -> np.ndarray:
    """Return by how much the chosen split is better, per record, in floats."""
    here = tables[:, row.inside].astype(float)
    chosen, known = _after(here, row.chosen, row.criterion)
    other, its = _after(here, row.other, row.criterion)
    records = here[0].sum()
    if row.criterion != "gain-ratio":
        return (other - chosen) / records
    before, _ = _after(here, np.zeros_like(row.chosen), row.criterion)
    return (its / known * (before - chosen) - (before - other)) / records


def _after(here: np.ndarray, branch: np.ndarray, criterion: str) -> tuple[np.ndarray, float]:
    """Return the sum of n_b * I(b) for each table, and the split information."""
    total, shares = np.zeros(len(here)), []
    for b in np.unique(branch):
        u = here[:, branch == b].sum(axis=1)
        n = u.sum(axis=1, keepdims=True)
        p = u / n
        log = np.log(p, out=np.zeros_like(p), where=p > 0)
        total += (n * p * (1 - p if criterion == "gini" else -log)).sum(axis=1)
        shares.append(float(n[0, 0] / here[0].sum()))
    return total, -sum(share * math.log(share) for share in shares)


def _is_better(row: SplitRow, table: np.ndarray) -> bool:
    """Return whether the chosen split is truly better; a gain ratio this near is a tie."""
    if row.criterion == "gain-ratio":
        return False
    here = table[row.inside]
    sides = [
        [here[branch == b].sum(axis=0).tolist() for b in np.unique(branch)]
        for branch in (row.chosen, row.other)
    ]
    if row.criterion == "gini":
        chosen, other = (
            sum(Fraction(sum(u * u for u in b), sum(b)) for b in side) for side in sides
        )
        return chosen > other
    (up, down), (other_up, other_down) = (
        (math.prod(u**u for b in side for u in b), math.prod(sum(b) ** sum(b) for b in side))
        for side in sides
    )
    return up * other_down > other_up * down
