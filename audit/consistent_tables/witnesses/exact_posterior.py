"""What all worlds together say of each record, and how many worlds there are."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class ExactPosterior:
    """P(class | profile) under a uniform prior over data sets, shape (P, m) each; low == high where it is exact.

    ``draws`` is 0 where all worlds were counted; otherwise all intervals hold at once with probability 1 - ERROR.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    draws: int = 0


# What the worlds say about each record when every data set that fits is equally likely: exact, or with intervals.


@dataclass(frozen=True, slots=True)
class TableNumbers:
    """How many worlds and data sets obey the facts, and how many would without the split rows (None: not counted)."""

    worlds: int
    data_sets: int
    worlds_without_splits: int | None = None
    data_sets_without_splits: int | None = None
