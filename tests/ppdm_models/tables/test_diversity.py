"""The arithmetic of k-anonymity and l-diversity against its definitions, on class counts in lists."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.tables.diversity import (
    crowding,
    is_anonymous,
    is_diverse,
    is_recursively_diverse,
    ranked,
)

groups = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(0, 9), min_size=m, max_size=m).filter(any), min_size=1, max_size=5
    )
)
tenths = st.integers(1, 60)


def held(counts, c, l):  # noqa: E741  # the name the notion has
    falling = sorted(counts, reverse=True)
    return falling[0] < c * sum(falling[l - 1 :])


@given(groups)
def test_the_sums_are_those_of_the_sorted_counts(rows):
    top, tails = ranked(np.array(rows))
    assert top.tolist() == [max(row) for row in rows]
    assert tails.tolist() == [
        [sum(sorted(row, reverse=True)[rank:]) for rank in range(len(row))] for row in rows
    ]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
@given(rows=groups, tenth=tenths, data=st.data())
def test_recursive_diversity_is_that_of_the_definition(kind, rows, tenth, data):
    rank = data.draw(st.integers(1, len(rows[0])))
    top, tails = ranked(np.array(rows, dtype=kind))
    told = is_recursively_diverse(top, tails[:, rank - 1], tenth / 10).tolist()
    assert told == [held(row, Fraction(tenth, 10), rank) for row in rows]


@given(groups, st.data())
def test_the_crowding_is_the_infimum_of_the_c_that_hold(rows, data):
    rank = data.draw(st.integers(1, len(rows[0])))
    top, tails = ranked(np.array(rows))
    least = [
        Fraction(max(row), tail) if (tail := sum(sorted(row, reverse=True)[rank - 1 :])) else None
        for row in rows
    ]
    wanted = [math.inf if each is None else float(each) for each in least]
    assert crowding(top, tails[:, rank - 1]).tolist() == wanted


@given(groups, tenths)
def test_diversity_is_a_most_frequent_value_below_one_lth(rows, tenth):
    top, tails = ranked(np.array(rows))
    wanted = [Fraction(max(row), sum(row)) < Fraction(10, tenth) for row in rows]
    assert is_diverse(top, tails[:, 0], tenth / 10).tolist() == wanted


def test_a_group_of_just_k_is_k_anonymous():
    assert is_anonymous(np.array([4, 5, 6]), 5).tolist() == [False, True, True]


@given(groups, st.integers(1, 9), tenths, st.data())
def test_what_is_met_by_all_groups_is_met_when_they_are_merged(rows, k, tenth, data):
    rank, number = data.draw(st.integers(1, len(rows[0]))), tenth / 10
    top, tails = ranked(np.array(rows))
    one, sums = ranked(np.array(rows).sum(axis=0, keepdims=True))
    pairs = [
        (is_anonymous(tails[:, 0], k), is_anonymous(sums[:, 0], k)),
        (is_diverse(top, tails[:, 0], number), is_diverse(one, sums[:, 0], number)),
        (
            is_recursively_diverse(top, tails[:, rank - 1], number),
            is_recursively_diverse(one, sums[:, rank - 1], number),
        ),
    ]
    assert all(merged.all() for parts, merged in pairs if parts.all())
