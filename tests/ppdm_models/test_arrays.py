"""Rows told apart by one number each, against sorting the rows themselves."""

import numpy as np
import pytest

from ppdm_models.arrays import alike


def sorted_rows(columns):
    rows = np.stack(columns, axis=1)
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_told_apart_as_sorting_them_tells_them(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 300))
    # Few values, negative ones, and more values than records: up to forty columns need more than one number holds.
    ends = rng.choice([1, 2, 5, 1000, 2**60], int(rng.integers(1, 41)))
    columns = [rng.integers(-end, end, size) for end in ends]
    for found, wanted in zip(alike(columns), sorted_rows(columns), strict=True):
        assert found.tolist() == wanted.tolist()


def test_the_first_of_each_kind_is_the_first_that_stands_there():
    first, kind = alike([np.array([3, 1, 3, 1, 2])])
    assert (first.tolist(), kind.tolist()) == ([1, 4, 0], [2, 0, 2, 0, 1])


def test_without_records_there_are_no_kinds():
    first, kind = alike([np.zeros(0, dtype=np.intp)] * 2)
    assert (len(first), len(kind)) == (0, 0)
