"""What arrays hold, by name: shapes stand in the docstrings of those who take and return them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
"""Counts and other whole numbers."""
IndexArray = NDArray[np.intp]
"""Places in another array."""
ShortArray = NDArray[np.int32]
"""The same in half the memory, where there are many of them."""
Number = TypeVar("Number", np.float64, np.bool_)
NumberArray = NDArray[np.number]
"""Whole numbers or others: what is done with them is the same."""

MOST_CODES = 2**62
"""So many rows can be told apart by one whole number."""


FEW_COLUMNS = 8
"""So many columns NumPy adds up in their order too, and going through them one by one is many times faster."""


def by_rows(combine: np.ufunc, cells: NDArray[Number]) -> NDArray[Number]:
    """Return what an operation (``np.add``, ``np.maximum``, ...) makes of each row of an array, (n, m): shape (n,)."""
    if 0 < cells.shape[1] < FEW_COLUMNS:
        return np.array(reduce(combine, cells.T))
    return np.asarray(combine.reduce(cells, axis=1))


def alike(columns: Sequence[IndexArray]) -> tuple[IndexArray, IndexArray]:
    """Return the first of each kind of row, (K,), and the kind of each, (n,), of rows in columns of whole numbers.

    Kinds are in the order of their rows, by the first column first. One number stands for each row, as numbers are
    sorted many times faster than rows are.
    """
    keys, kinds = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        codes, size = column - low, int(column.max(initial=0)) - low + 1
        if size > len(column):
            codes, size = ranks(column)
        if kinds * size > MOST_CODES:
            keys, kinds = ranks(keys)
        keys, kinds = keys * size + codes, kinds * size
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


def distinct(values: IndexArray) -> IndexArray:
    """Return the different ones of whole numbers, in their order.

    NumPy's own way hashes them, which takes a hundred times as long where most of very many are different.
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def ranks(values: NumberArray) -> tuple[IndexArray, int]:
    """Return the place of each number among those that there are, (n,), and how many there are."""
    found, rank = np.unique(values, return_inverse=True)
    return rank.reshape(-1), len(found)
