"""Minimal reasons and the least withholding, on cases that were counted by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from tests.kit.small_audits import flat_tree, people_of
from treewarden.audit.blame import certainty, withholding
from treewarden.audit.blame.certainty import ALWAYS_KNOWN, Answer, CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.inference_blame import blame_inference
from treewarden.audit.blame.of_model import BlameSettings, blame_numbers, numbers_of_model
from treewarden.audit.blame.result import ProofReason
from treewarden.audit.blame.withholding import (
    WITHOUT_ANY,
    find_smallest,
    reasons_of_all,
    shares_of_blame,
    withhold_least,
)
from treewarden.audit.engine.counts import by_leaves
from treewarden.audit.engine.newton_steps import estimate
from treewarden.audit.engine.problem import Problem
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.withholding_costs import read_costs

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


def test_a_smaller_reason_than_a_minimal_one_is_found():
    # A is yes by {A, B} = 1 and B = 0, and also by {A, D} = {D, C} = {C, B} = 1 and B = 0, of which none can be missed
    numbers = numbers_of(
        np.array([[1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]]),
        numbers=(0, 1, 2, 3, 4),
        costs=(1, 1, 1, 1, 1),
    )
    oracle = oracle_of(numbers)
    long = ProofReason(frozenset({0, 1, 2, 4}), (0,), is_minimal=True)
    assert oracle.ask(long.numbers, 0) is Answer.PROVED
    for number in long.numbers:
        assert oracle.ask(long.numbers - {number}, 0) is Answer.SHOWN_OTHERWISE
    found = find_smallest(oracle, long)
    assert (found.numbers, found.is_smallest) == ({3, 4}, True)
    late = find_smallest(CertaintyOracle(numbers, clock(0.0)), long)
    assert (late.numbers, late.is_smallest) == (long.numbers, False)


def test_bands_are_cheaper_than_a_whole_leaf_where_they_suffice():
    # bands of 5: of the first leaf 10 to 14 of its 12 people have no, so 10 to 12: nobody is certain
    tree = flat_tree([[12, 0], [3, 0], [2, 3]])
    people = people_of(tree)
    costs = read_costs("band=0.25")
    blame = blame_numbers(
        forest_of(tree, people), people, Knowledge(), None, clock(20.0), BlameSettings(costs=costs)
    )
    withheld = sorted(blame.names[number] for number in blame.least.withheld)
    assert withheld == ["leaf 1, exact class counts", "leaf 2, exact class counts"]
    assert (blame.least.cost / blame.least.unit, blame.least.is_optimal) == (0.5, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("leaves=1", "not a kind of number"),
        ("leaf=1,leaf=2", "named twice"),
        ("leaf=0", "above 0"),
        ("leaf=1e9", "at most 1,000"),
        ("leaf=0.001", "two decimals"),
        ("leaf=nan", "above 0"),
        ("leaf", "above 0"),
        ("band=1", "less than leaf"),
        ("", "not a kind of number"),
    ],
)
def test_costs_that_cannot_be_are_named(text, problem):
    with pytest.raises(ValueError, match=problem):
        read_costs(text)


def test_what_is_dear_stays():
    costs = read_costs("leaf=2.5,count=0.5")
    assert (costs.unit, costs.whole("leaf"), costs.whole("count"), costs.whole("metric")) == (
        2,
        5,
        1,
        2,
    )


def test_the_number_that_tells_most_is_the_one_without_which_people_are_inferred_least():
    # without its counts the label of the last leaf leaves 3 to 6 of its 6 people, and the estimate takes 3
    tree = flat_tree([[4, 0], [2, 3], [0, 6]])
    people = people_of(tree)
    blame = blame_numbers(forest_of(tree, people), people, Knowledge(), None, clock(20.0))
    found = blame.inference
    assert blame.names[found.number] == "leaf 3"
    assert found.before == pytest.approx((4 + 2 * 0.4 + 3 * 0.6 + 6) / 15, abs=1e-6)
    assert found.after == pytest.approx((4 + 2 * 0.4 + 3 * 0.6 + 3) / 15, abs=1e-6)
    assert found.tried == 3


def test_without_time_no_number_is_called_the_one_that_tells_most():
    tree = flat_tree([[4, 0], [2, 3]])
    people = people_of(tree)
    numbers = numbers_of_model(forest_of(tree, people), people, Knowledge()).numbers
    assert isinstance(blame_inference(numbers, clock(0.0)), Undetermined)


def blame_of(tree, text):
    people = people_of(tree)
    settings = BlameSettings(costs=read_costs(text))
    return blame_numbers(forest_of(tree, people), people, Knowledge(), None, clock(20.0), settings)


@pytest.mark.parametrize("counts", [[5, 0], [0, 5]])
def test_bands_of_either_class_that_leave_one_count_do_not_suffice(counts):
    # of 5 people 5 to 9 have one class: all of them
    least = blame_of(flat_tree([counts, [2, 3]]), "band=0.25").least
    assert (len(least.withheld), least.cost / least.unit, least.is_optimal) == (2, 1, True)


def test_a_label_of_several_classes_stays_and_proves_who_is_alone_in_a_leaf():
    tree = flat_tree([[1, 0, 0], [2, 3, 1]], classes=("a", "b", "c"))
    least = blame_of(tree, "leaf=1").least
    assert (least.is_safe, least.problem) == (False, WITHOUT_ANY)


def test_a_leaf_is_called_a_leaf_once():
    tree = flat_tree([[12, 0], [3, 0], [2, 3]])
    renamed = replace(
        tree,
        nodes=tuple(replace(node, name=node.name.removeprefix("leaf ")) for node in tree.nodes),
    )
    for each in (tree, renamed):
        people = people_of(each)
        found = numbers_of_model(forest_of(each, people), people, Knowledge())
        assert found.numbers.names == ("leaf 1", "leaf 2", "leaf 3")


def weighed(seed, people=400):
    """Return people in two leaves, of whom 0/1 counts are exact and a sum of ages lies in the narrowest of bands."""
    random = np.random.default_rng(seed)
    yes, ages = random.permutation(people) % 2, random.integers(20, 80, people)
    leaf = np.arange(people) % 2
    rows = np.stack([leaf, 1 - leaf, ages])
    counts = rows @ yes
    problem = Problem(
        matrix=sparse.csr_array(rows),
        low=counts,
        high=counts + np.array([0, 0, 150]),
        output=np.ones(3, dtype=np.intp),
        trees=np.arange(3),
        nodes=np.zeros(3, dtype=np.intp),
        sizes=np.ones(people, dtype=np.int64),
        classes=2,
    )
    truth = np.stack([1 - yes, yes], axis=1)
    return PublishedNumbers(problem, np.arange(3), ("a", "b", "ages"), np.ones(3, int), truth)


def test_exchanges_show_that_nobody_is_certain_without_a_solver(monkeypatch):
    monkeypatch.setattr(certainty, "MilpModel", None)
    for seed in range(5):
        numbers = weighed(seed)
        found = oracle_of(numbers).certain_groups(numbers.everything)
        assert not found.is_certain.any()
        assert not found.is_open.any()


@pytest.mark.parametrize("seed", range(40))
def test_what_exchanges_show_is_so_in_a_table(seed):
    random = np.random.default_rng(seed)
    people, classes = int(random.integers(3, 7)), int(random.integers(2, 4))
    values = random.integers(0, classes, people)
    truth = np.eye(classes, dtype=np.int64)[values]
    rows = random.integers(0, 4, (4, people)) * random.integers(0, 2, (4, people))
    output = random.integers(0, classes, 4)
    sums = np.array([row @ truth[:, k] for row, k in zip(rows, output, strict=True)])
    problem = Problem(
        matrix=sparse.csr_array(rows),
        low=sums - random.integers(0, 3, 4),
        high=sums + random.integers(0, 3, 4),
        output=output,
        trees=np.arange(4),
        nodes=np.zeros(4, dtype=np.intp),
        sizes=np.ones(people, dtype=np.int64),
        classes=classes,
    )
    of = np.array([ALWAYS_KNOWN, 0, 1, 2])
    numbers = PublishedNumbers(problem, of, ("a", "b", "c"), np.ones(3, dtype=np.int64), truth)
    everyone = product(range(classes), repeat=people)
    tables = [np.eye(classes, dtype=np.int64)[list(each)] for each in everyone]
    broken = [numbers.broken_by(table) for table in tables]
    for retained in map(frozenset, ((), (0,), (1, 2), (0, 1, 2))):
        oracle = oracle_of(numbers)
        oracle.show_exchanges(retained, np.ones(people, dtype=bool))
        is_otherwise = np.zeros(people, dtype=bool)
        for table, wrong in zip(tables, broken, strict=True):
            if not wrong & (retained | {ALWAYS_KNOWN}):
                is_otherwise |= (table != truth).any(axis=1)
        assert not (oracle.is_seen(retained) & ~is_otherwise).any()
        for group in np.flatnonzero(oracle.is_seen(retained)).tolist():
            contradicted = oracle.contradicted(retained, group)
            fits = [not wrong - contradicted for wrong in broken]
            assert any(
                (t[group] != truth[group]).any() for t, f in zip(tables, fits, strict=True) if f
            )


def test_an_estimate_alone_is_the_same_and_narrows_no_boxes():
    numbers = weighed(0)
    counts = numbers.counts(numbers.everything)
    boxes = by_leaves(counts)
    alone = estimate(counts, boxes, clock(20.0), proves=False)
    proved = estimate(counts, boxes, clock(20.0))
    assert alone.boxes is boxes
    np.testing.assert_allclose(alone.estimate.values, proved.estimate.values, atol=1e-5)


@pytest.mark.parametrize("ties", [(), (frozenset({0, 2}),)])
def test_where_the_search_for_the_least_has_no_time_a_larger_set_is_shown_to_be_safe(
    monkeypatch, ties
):
    monkeypatch.setattr(withholding, "SEARCH_SHARE", 0.0)
    numbers = numbers_of(costs=(1, 3, 1))
    oracle = oracle_of(numbers)
    least = withhold_least(oracle, ties)
    assert least.is_safe
    assert least.lower_bound <= least.cost
    assert all(not tie & least.withheld or tie <= least.withheld for tie in ties)
    found = oracle_of(numbers).certain_groups(numbers.everything - least.withheld)
    assert not (found.is_certain | found.is_open).any()


def test_without_any_time_no_set_is_called_safe(monkeypatch):
    monkeypatch.setattr(withholding, "SEARCH_SHARE", 0.0)
    assert not withhold_least(CertaintyOracle(numbers_of(), clock(0.0))).is_safe
