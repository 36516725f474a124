"""How many bits published numbers can hold at most, beside how many everybody's values are.

A number that can take v values tells at most ``log2 v`` bits (Shannon 1948). With far fewer bits than the values have,
few people can be proved, and inference is the risk; with more, most of them may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from treewarden.audit.engine.problem import Problem
from treewarden.audit.outputs.whole_row import WholeRow
from treewarden.ppdm_models.arrays import IndexArray, IntArray

STATEMENT_BITS = 1.0
"""A row with one end says one thing or its opposite."""


def bits_of_leaves(problem: Problem, rows: IndexArray) -> float:
    """Return how many bits some rows over counts of people hold at most."""
    people = np.asarray(problem.matrix[rows] @ problem.sizes, dtype=np.float64)
    width = np.asarray(problem.high[rows] - problem.low[rows], dtype=np.float64)
    return float(np.log2((people + 1.0) / (np.clip(width, 0.0, people) + 1.0)).sum())


def bits_of_rows(rows: Sequence[WholeRow], people: IntArray) -> float:
    """Return how many bits rows of outputs, in the order of their entries, hold at most; ``people`` is (P,)."""
    total = 0.0
    for _, group in groupby(rows, key=lambda row: row.entry):
        before: WholeRow | None = None
        for row in group:
            if row.low is not None and row.high is not None:
                total += _of_two_ends(row, people)
            elif before is not None and before.low is not None and row.low is None:
                total += _of_pair(before, row) - STATEMENT_BITS  # which the first of them was given
            else:
                total += STATEMENT_BITS
            before = row if row.high is None else None
    return total


def _of_two_ends(row: WholeRow, people: IntArray) -> float:
    assert row.low is not None
    assert row.high is not None
    weights = row.weights.astype(np.float64)
    least, most = (
        float(part @ people) for part in (np.minimum(weights, 0), np.maximum(weights, 0))
    )
    width = max(min(row.high, most) - max(row.low, least), 0.0)
    return math.log2((most - least + 1.0) / (width + 1.0))


def _of_pair(low: WholeRow, high: WholeRow) -> float:
    """Return the bits of a mean or a share, of which each end is a row: the widest range over the width of rounding."""
    scale = max(float(np.abs(low.weights).max(initial=0)), 1.0)
    other = max(float(np.abs(high.weights).max(initial=0)), 1.0)
    gap = float(np.abs(low.weights / scale - high.weights / other).max(initial=0.0))
    return math.log2(1.0 + 2.0 / gap) if gap > 0 else STATEMENT_BITS
