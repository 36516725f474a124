"""Kinds of models crossed with kinds of adversaries, against a list of every table, on a few cases."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.crossing.cases import drawn_case, evidence_of
from tests.judges.crossing.parts import PartsOfPeople
from tests.judges.run_crossing import (
    CrossingTrial,
    groups_of,
    judge_estimate,
    seeds_of,
    tables,
    trial,
)
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(96, quick=(0, 32, 33, 36, 38, 57)))
def test_no_case_misses(seed):
    assert trial(seed).misses == []


def test_the_true_table_is_among_those_that_are_listed():
    for seed in range(0, 48, 5):
        case = drawn_case(seed)
        every = tables(case)
        is_true = (every.values == case.values).all(axis=1)
        assert (is_true & (every.codes == case.codes).all(axis=(1, 2))).any(), seed


def test_the_seeds_of_one_combination_are_found_by_its_name():
    assert seeds_of(0, 2, "^forest x some columns$") == [25, 121]


SETTLED_BY_WHOLE_PEOPLE = 31312
"""Weights of 3, 3, 3, 2 and 2, and a class of weight 6: two people of weight 3, or parts of all five."""


def test_an_estimate_may_leave_open_what_only_whole_people_settle():
    case = drawn_case(SETTLED_BY_WHOLE_PEOPLE)
    every, parts = tables(case).values, PartsOfPeople(case)
    assert ((every[:, [2, 4]] == 0).mean(axis=1)).min() == 0.5
    assert parts.ends([2, 4], 0) == pytest.approx((0, 1))
    assert trial(SETTLED_BY_WHOLE_PEOPLE).misses == []


def test_an_estimate_that_no_parts_of_people_have_is_a_miss():
    case = drawn_case(SETTLED_BY_WHOLE_PEOPLE)
    evidence, found = evidence_of(case), CrossingTrial(SETTLED_BY_WHOLE_PEOPLE)
    even = np.full_like(evidence.posterior.values, 1 / 3)
    evidence = replace(evidence, posterior=replace(evidence.posterior, values=even))
    judge_estimate(found, case, evidence, tables(case).values, groups_of(case, evidence))
    assert "group 0, class 1: estimated 0.3333333333333333, outside 1 to 1" in found.misses


def test_whole_people_are_parts_of_people():
    for seed in range(0, 96, 11):
        case = drawn_case(seed)
        if case.kind == "boosted":
            continue
        parts, every = PartsOfPeople(case), tables(case)
        answers = every.codes[:, :, 1] if case.is_of_secret else every.values
        for person in case.last.tolist():
            shares = (answers[:, person] == 0).astype(float)
            low, high = parts.ends([person], 0)
            assert low - 1e-6 <= shares.min(), seed
            assert shares.max() <= high + 1e-6, seed
