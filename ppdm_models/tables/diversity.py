"""k-anonymity and l-diversity as arithmetic on class counts: what is demanded of groups of records, written once.

d_1 >= d_2 >= ... >= d_m are a group's records per sensitive value (Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam
2007, section 3). Every demand stays met when groups are merged: d_1 of the union is at most the sum of the d_1, and its
d_l + ... + d_m at least their sum.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray

Counts = TypeVar("Counts", IntArray, FloatArray)
Number = IntArray | FloatArray | int


def ranked(classes: Counts) -> tuple[Counts, Counts]:
    """Return d_1 of G groups, shape (G,), and d_l + ... + d_m for l = 1, 2, ..., m, shape (G, m), of counts (G, m).

    The first column of the sums are the sizes of the groups.
    """
    falling = -np.sort(-classes, axis=1)
    return falling[:, 0], falling[:, ::-1].cumsum(axis=1)[:, ::-1]


def crowding(top: IntArray | FloatArray, tail: IntArray | FloatArray) -> FloatArray:
    """Return the infimum of the c of (c, l)-diversity, d_1 / (d_l + ... + d_m), shape (G,); infinite without a tail."""
    return np.asarray(np.divide(top, tail, out=np.full(len(top), np.inf), where=tail > 0))


def is_anonymous(size: Number, k: int) -> BoolArray:
    """Return per group whether it holds k records or more (k-anonymity)."""
    return np.asarray(size >= k)


def is_diverse(top: Number, size: Number, l: float) -> BoolArray:  # noqa: E741  # the name the notion has
    """Return per group whether its most frequent value has less than 1/l of its records (l-diversity, strong form)."""
    return np.asarray(top * l < size)


def is_recursively_diverse(top: Number, tail: Number, c: float) -> BoolArray:
    """Return per group whether d_1 < c (d_l + ... + d_m), of these sums (recursive (c, l)-diversity)."""
    return np.asarray(top < c * tail)
