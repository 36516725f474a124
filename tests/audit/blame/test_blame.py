"""Minimal reasons and the least withholding, on cases that were counted by hand."""

import numpy as np
from scipy import sparse

from tests.kit.small_audits import flat_tree, people_of
from treewarden.audit.blame.certainty import ALWAYS_KNOWN, CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.of_model import numbers_of_model
from treewarden.audit.blame.withholding import (
    WITHOUT_ANY,
    reasons_of_all,
    shares_of_blame,
    withhold_least,
)
from treewarden.audit.engine.problem import Problem
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.progress import clock

YES = np.array([1, 0, 1, 0])
ROWS = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]])


def numbers_of(rows=ROWS, numbers=(0, 1, 2), costs=(1, 1, 1)):
    """Return A, B, C and D, of whom A and C have yes, and exact counts of some of them."""
    counts = rows @ YES
    problem = Problem(
        matrix=sparse.csr_array(rows),
        low=counts,
        high=counts,
        output=np.ones(len(rows), dtype=np.intp),
        trees=np.arange(len(rows)),
        nodes=np.zeros(len(rows), dtype=np.intp),
        sizes=np.ones(4, dtype=np.int64),
        classes=2,
    )
    names = tuple(f"t{number}" for number in range(len(costs)))
    truth = np.stack([1 - YES, YES], axis=1)
    return PublishedNumbers(problem, np.array(numbers), names, np.array(costs), truth)


def oracle_of(numbers):
    return CertaintyOracle(numbers, clock(20.0))


def test_each_reason_is_minimal_and_blame_is_shared_alike():
    numbers = numbers_of()
    oracle = oracle_of(numbers)
    found = oracle.certain_groups(numbers.everything)
    assert found.is_certain.tolist() == [False, False, True, True]
    reasons, left = reasons_of_all(oracle, numbers.everything, found.is_certain)
    assert {(reason.numbers, reason.groups) for reason in reasons} == {
        (frozenset({0, 1}), (2,)),
        (frozenset({0, 1, 2}), (3,)),
    }
    assert all(reason.is_minimal for reason in reasons)
    assert not left.any()
    assert np.allclose(shares_of_blame(reasons, np.ones(4), 3), [5 / 6, 5 / 6, 1 / 3])


def test_one_number_is_withheld_and_the_cheapest_of_those_that_do():
    least = withhold_least(oracle_of(numbers_of()))
    assert least.is_optimal
    assert least.cost == 1
    assert least.withheld in ({0}, {1})
    dear = withhold_least(oracle_of(numbers_of(costs=(3, 2, 1))))
    assert (dear.withheld, dear.cost, dear.lower_bound) == ({1}, 2, 2)


def test_what_is_tied_goes_together():
    least = withhold_least(oracle_of(numbers_of()), ties=(frozenset({0, 1, 2}),))
    assert least.withheld == {0, 1, 2}
    assert least.is_optimal


def test_what_stays_known_cannot_be_withheld():
    numbers = numbers_of(numbers=(ALWAYS_KNOWN, ALWAYS_KNOWN, 0), costs=(1,))
    least = withhold_least(oracle_of(numbers))
    assert not least.is_safe
    assert least.problem == WITHOUT_ANY


def test_without_time_nothing_is_claimed():
    least = withhold_least(CertaintyOracle(numbers_of(), clock(0.0)))
    assert not least.is_optimal
    assert least.lower_bound <= 1


def test_pure_leaves_of_a_tree_are_its_reasons():
    tree = flat_tree([[4, 0], [2, 3], [0, 5]])
    people = people_of(tree)
    found = numbers_of_model(forest_of(tree, people), people, Knowledge())
    oracle = oracle_of(found.numbers)
    reasons, _ = reasons_of_all(
        oracle, found.numbers.everything, oracle.certain_groups(found.numbers.everything).is_certain
    )
    assert [found.leaves[min(reason.numbers)][1] for reason in reasons] == [1, 3]
    assert withhold_least(oracle).cost == 2


def test_where_the_class_totals_are_known_a_second_leaf_has_to_go():
    tree = flat_tree([[4, 0], [2, 3], [1, 4]])
    people = people_of(tree)
    forest = forest_of(tree, people)
    alone = numbers_of_model(forest, people, Knowledge())
    known = numbers_of_model(forest, people, Knowledge(marginal=True))
    assert withhold_least(oracle_of(alone.numbers)).cost == 1
    assert withhold_least(oracle_of(known.numbers)).cost == 2
