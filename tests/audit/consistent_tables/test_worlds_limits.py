"""Bad days: no time, weights, a billion records, a hundred classes; never a wrong certainty, never a traceback."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import ONLY_PROOFS, system_of, worlds_of
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.result import Consistency
from treewarden.audit.reading import Undetermined

SQUARE = [[0, 1], [2, 3]]


def square(n, counts, classes=2, criterion="gini", candidate="0101"):
    return system_of(n, SQUARE, counts, [(0, candidate)], classes=classes, criterion=criterion)


def test_weighted_records_are_not_reasoned_over():
    system = square([1, 1, 1, 1], [(1, 1), (1, 1)])
    people = replace(system.case.population, counts=np.array([1.5, 1.0, 1.0, 1.0]))
    told = reason(replace(system, case=replace(system.case, population=people)))
    assert isinstance(told, Undetermined)
    assert "weighted records" in told.reason


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_without_time_only_what_leaves_say_alone_is_decided(criterion):
    told = worlds_of(square([1, 1, 1, 1], [(1, 1), (2, 0)], criterion=criterion), budget_seconds=0)
    assert told.certain.tolist() == [False, False, True, True]
    assert told.open_profiles.tolist() == [True, True, False, False]
    assert told.consistency is Consistency.NOT_DECIDED
    assert told.not_decided


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain-ratio"])
@pytest.mark.parametrize("scale", [10**3, 10**9, 10**12])
def test_huge_counts_keep_the_answers_exact(criterion, scale):
    # Left: all of one class. Right: the other but for one record. The candidate must not do better.
    n = [scale, scale, scale, scale]
    told = worlds_of(
        square(n, [(2 * scale - 1, 1), (1, 2 * scale - 1)], criterion=criterion), budget_seconds=5
    )
    assert told.consistency is not Consistency.INCONSISTENT
    assert (told.low[:, 0] <= np.array([scale, scale, 1, 1])).all()
    assert (told.high[:, 0] >= np.array([scale - 1, scale - 1, 0, 0])).all()
    assert told.low[:2, 0].tolist() == [scale - 1, scale - 1]
    assert not told.certain.any()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_one_record_among_a_billion_decides_a_row(criterion):
    # The candidate puts q1 with q3 and q2 with q4; were q2 all of class 1, it would part the classes best.
    big = 10**9
    system = square([big, big, 1, 1], [(big, big), (1, 1)], criterion=criterion)
    told = worlds_of(system, budget_seconds=5)
    assert told.high[0, 0] < big
    assert told.low[0, 0] > 0


def test_a_hundred_classes_are_worked_through():
    classes = 100
    leaf = tuple(1 if klass < 50 else 0 for klass in range(classes))
    other = tuple(1 if klass >= 50 else 0 for klass in range(classes))
    # Every table has a tie, by which none shows anything of a program that is not known.
    told = worlds_of(square([25, 25, 25, 25], [leaf, other], classes=classes), budget_seconds=5)
    assert told.consistency is not Consistency.INCONSISTENT
    assert told.excluded[:2, 50:].all()
    assert not told.certain.any()


def test_a_leaf_that_contradicts_its_own_size_is_inconsistent():
    told = worlds_of(square([1, 1, 1, 1], [(1, 2), (1, 1)]))
    assert told.consistency is Consistency.INCONSISTENT
    assert told.conflict


def test_the_same_question_gets_the_same_answer_twice():
    system = square([3, 2, 2, 3], [(3, 2), (2, 3)])
    first, second = (worlds_of(system, tiers=ONLY_PROOFS) for _ in range(2))
    assert (first.low == second.low).all()
    assert (first.reached_high == second.reached_high).all()
    assert (first.enumeration.posterior.values == second.enumeration.posterior.values).all()
