"""Numbers that are published beside the tree: tables of characteristics, regressions, anonymised tables and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.constraints import Constraint
from treewarden.audit.facts.rows import Case, LeftOut, Linear, Origin, Row

if TYPE_CHECKING:
    from treewarden.audit.outputs.beside_rows import BesideRows
    from treewarden.audit.outputs.whole_row import WholeRow

WHY = "what published numbers contain beyond linear constraints over people"
LARGEST = 10.0
"""Weights are scaled to powers of ten below this, so that all rows of the estimate are of one size."""
ROUNDING = 1e-13
"""How far an end may be off as a floating-point number, relative to its size."""


class PublishedBeside(Constraint):
    """Yields the rows of each entry; where these say less than it does, stronger rows that tables are held against."""

    def rows(self, case: Case) -> Iterator[Row | LeftOut]:
        beside = case.beside
        if beside is None:
            return
        for row in beside.rows:
            if row.weights.any():
                yield as_linear(row, beside)
        if beside.stronger or beside.open_entries:
            lines = tuple(as_linear(row, beside) for row in beside.stronger if row.weights.any())
            yield LeftOut(0, "", WHY, lines=lines, is_open=bool(beside.open_entries))
        for words in beside.unused:
            yield LeftOut(0, "", words, is_open=True)


def as_linear(row: WholeRow, beside: BesideRows) -> Linear:
    """Return a row in whole numbers as one over masses: whole numbers over a power of ten, so that it stays exact."""
    profiles = np.flatnonzero(row.weights)
    weights = row.weights[profiles]
    power = 1
    while abs(int(np.abs(weights).max())) >= LARGEST * power:
        power *= 10
    low = -np.inf if row.low is None else row.low / power
    high = np.inf if row.high is None else row.high / power
    size = max((abs(end) for end in (low, high) if np.isfinite(end)), default=0.0)
    return Linear(
        profiles=profiles,
        classes=np.full(len(profiles), row.klass, dtype=np.intp),
        weights=weights / power,
        low=low,
        high=high,
        origin=Origin("published_beside", beside.words(row.entry), is_published=True),
        slack=ROUNDING * size,
    )


CONSTRAINT = PublishedBeside()
