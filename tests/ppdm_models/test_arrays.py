"""Rows told apart by one number each, against sorting the rows themselves."""

import numpy as np
import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.arrays import alike, by_rows, distinct, kinds_of, ranks


def sorted_rows(columns):
    rows = np.stack(columns, axis=1)
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, kind.reshape(-1)


@rows("seed", range(20))
def test_rows_are_told_apart_as_sorting_them_tells_them(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 300))
    # Few values, negative ones, and more values than records: up to forty columns need more than one number holds.
    ends = rng.choice([1, 2, 5, 1000, 2**60], int(rng.integers(1, 41)))
    columns = [rng.integers(-end, end, size) for end in ends]
    for found, wanted in zip(alike(columns), sorted_rows(columns), strict=True):
        assert found.tolist() == wanted.tolist()
    assert kinds_of(columns).tolist() == sorted_rows(columns)[1].tolist()


def test_the_first_of_each_kind_is_the_first_that_stands_there():
    first, kind = alike([np.array([3, 1, 3, 1, 2])])
    assert (first.tolist(), kind.tolist()) == ([1, 4, 0], [2, 0, 2, 0, 1])


def test_without_records_there_are_no_kinds():
    first, kind = alike([np.zeros(0, dtype=np.intp)] * 2)
    assert (len(first), len(kind)) == (0, 0)


NUMBERS = (
    *([], [3], [5, -2, 5, 0, -2], [0.0, -0.0, 1.0], [0.5, 1.0, 0.5], [2.0, 1.0, 2.0]),
    *([1.0, np.nan, np.nan, 0.0], [np.inf, 0.0, -np.inf], [2.0**60, 2.0**60 + 512, 1.0]),
    *(np.array([-128, 127] * 200, dtype=np.int8), np.array([2**63, 2**63 + 1], dtype=np.uint64)),
    np.array([2**62, 2**62 + 1, 2**62]),
)


@rows("values", NUMBERS)
def test_numbers_have_the_ranks_of_numpy(values):
    rank, size = ranks(np.asarray(values))
    found, wanted = np.unique(values, return_inverse=True)
    assert (rank.tolist(), size) == (wanted.reshape(-1).tolist(), len(found))


@pytest.mark.parametrize("values", [[], [3], [5, -2, 5, 0, -2], [9, -9], list(range(9, 0, -1))])
def test_the_different_ones_of_numbers_are_those_of_numpy(values):
    numbers = np.array(values, dtype=np.intp)
    assert distinct(numbers).tolist() == np.unique(numbers).tolist()


@pytest.mark.parametrize("columns", [1, 2, 7, 8, 30])
@pytest.mark.parametrize("combine", [np.add, np.maximum, np.minimum])
def test_rows_are_combined_as_numpy_does_to_the_last_digit(combine, columns):
    cells = np.random.default_rng(columns).normal(size=(50, columns))
    assert by_rows(combine, cells).tolist() == combine.reduce(cells, axis=1).tolist()


def test_rows_without_columns_add_up_to_nothing():
    assert by_rows(np.add, np.zeros((3, 0))).tolist() == [0, 0, 0]


def test_what_is_made_of_one_column_is_an_array_of_its_own():
    cells = np.ones((3, 1))
    by_rows(np.add, cells)[0] = 5
    assert cells[0, 0] == 1
