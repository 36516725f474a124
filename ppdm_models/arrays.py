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


FEW_CLASSES = 4
"""Up to so many, classes are quicker summed one after the other."""


def grouped(groups: IndexArray | ShortArray, mass: FloatArray, count: int) -> FloatArray:
    """Return the sums of masses (K, m) by group, shape (count, m)."""
    width = mass.shape[1]
    if width <= FEW_CLASSES:
        columns = (np.bincount(groups, mass[:, klass], count) for klass in range(width))
        return np.stack([column.astype(np.float64) for column in columns], axis=1)
    cells = (groups[:, None] * width + np.arange(width)).ravel()
    sums = np.bincount(cells, weights=mass.ravel(), minlength=count * width)
    return sums.astype(np.float64).reshape(count, width)


def alike(columns: Sequence[IndexArray]) -> tuple[IndexArray, IndexArray]:
    """Return the first of each kind of row, (K,), and the kind of each, (n,), of rows in columns of whole numbers.

    Kinds are in the order of their rows, by the first column first. One number stands for each row, as numbers are
    sorted many times faster than rows are.
    """
    keys, kinds = _row_keys(columns)
    if kinds > len(keys):
        _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
        return first, kind.reshape(-1)
    kind, size = _ranks_by_counting(keys, kinds)
    first = np.full(size, len(keys))
    np.minimum.at(first, kind, np.arange(len(keys)))
    return first, kind


def kinds_of(columns: Sequence[IndexArray]) -> IndexArray:
    """Return the kind of each row as ``alike`` does, (n,), where nobody asks which row is the first of each."""
    keys, size = _row_keys(columns)
    return _ranks_by_counting(keys, size)[0] if size <= len(keys) else ranks(keys)[0]


def _row_keys(columns: Sequence[IndexArray]) -> tuple[IndexArray, int]:
    """Return one number for each row, (n,), in the order of the rows, and a number that all of them are below."""
    keys, kinds = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        low = int(column.min(initial=0))
        codes, size = column, int(column.max(initial=0)) - low + 1
        if size > len(column):
            (codes, size), low = ranks(column), 0
        if kinds * size > MOST_CODES:
            keys, kinds = ranks(keys)
        keys *= size
        keys += codes
        if low:
            keys -= low
        kinds *= size
    return keys, kinds


def distinct(values: IndexArray) -> IndexArray:
    """Return the different ones of whole numbers, in their order.

    NumPy's own way hashes them, which takes a hundred times as long where most of very many are different.
    """
    low, high = (values.min().item(), values.max().item()) if len(values) else (0, 0)
    if high - low < len(values):
        is_there = np.zeros(high - low + 1, dtype=np.bool_)
        is_there[np.asarray(values, dtype=np.int64) - low] = True
        return np.flatnonzero(is_there) + low
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def ranks(values: NumberArray) -> tuple[IndexArray, int]:
    """Return the place of each number among those that there are, (n,), and how many there are."""
    low, high = (values.min().item(), values.max().item()) if len(values) else (0, 0)
    if abs(low) < MOST_CODES and high - low < len(values):  # neither is true of NaN
        codes = np.asarray(values, dtype=np.int64)
        if np.issubdtype(values.dtype, np.integer) or (codes == values).all():
            return _ranks_by_counting(codes - int(low), int(high) - int(low) + 1)
    found, rank = np.unique(values, return_inverse=True)
    return rank.reshape(-1), len(found)


def _ranks_by_counting(codes: IndexArray, size: int) -> tuple[IndexArray, int]:
    """Return the same of numbers from 0 to ``size`` - 1, without sorting them."""
    is_there = np.zeros(size, dtype=np.bool_)
    is_there[codes] = True
    rank = np.cumsum(is_there) - 1
    return rank[codes], int(is_there.sum())
