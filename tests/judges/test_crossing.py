"""Kinds of models crossed with kinds of adversaries, against a list of every table, on a few cases."""

import pytest

from tests.judges.crossing.cases import drawn_case
from tests.judges.run_crossing import seeds_of, tables, trial
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(96, quick=(9, 10, 11, 17)))
def test_no_case_misses(seed):
    assert trial(seed).misses == []


def test_the_true_table_is_among_those_that_are_listed():
    for seed in range(0, 48, 5):
        case = drawn_case(seed)
        every = tables(case)
        is_true = (every.values == case.values).all(axis=1)
        assert (is_true & (every.codes == case.codes).all(axis=(1, 2))).any(), seed


def test_the_seeds_of_one_combination_are_found_by_its_name():
    assert seeds_of(0, 2, "^forest x some") == [9, 81]
