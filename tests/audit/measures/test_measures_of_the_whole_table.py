"""The measures that hold a leaf against the whole table, by their definitions on small leaves."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.audit.weighed_trees import people_of as people_with_weights
from tests.audit.weighed_trees import weighed_tree
from tests.kit.forests import forest, stump
from tests.kit.small_audits import (
    NO_TRUTH,
    audit_model,
    deep_tree,
    evidence_of,
    flat_tree,
    pack_of,
    people_of,
    read,
)
from tests.ppdm_models.methods.tpp.tpp_strategies import categories, numbers
from treewarden.audit.measures import measures
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.result import MeasureCall
from treewarden.policies.judging.clause_evaluation import Clauses
from treewarden.policies.remedies import NoProposal, remedies
from treewarden.policies.remedies._pruning import merging
from treewarden.ppdm_models.methods.tpp.sanitise import grouped
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route

NAMES = ("t_closeness", "delta_disclosure")
counts_of_leaves = st.integers(2, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(0, 12), min_size=m, max_size=m).filter(any), min_size=1, max_size=4
    )
)
leaf = st.lists(st.integers(0, 9), min_size=2, max_size=2)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=12)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, ("a", "b")))
peopled = trees.filter(lambda tree: tree.root.records)


def shares(counts):
    return [Fraction(int(count), int(sum(counts))) for count in counts]


def least_work(counts, whole):
    """The earth mover's distance as the problem it is: the least mass moved, any move as long as any other."""
    here, there = ([float(share) for share in shares(each)] for each in (counts, whole))
    m = len(here)
    cost = [float(i != j) for i, j in product(range(m), repeat=2)]
    gives = [[float(i == row) for i, _ in product(range(m), repeat=2)] for row in range(m)]
    takes = [[float(j == column) for _, j in product(range(m), repeat=2)] for column in range(m)]
    return linprog(cost, A_eq=gives + takes, b_eq=here + there).fun


def is_private(counts, whole, delta):
    """Brickell & Shmatikov 2008: |log(p(leaf, s) / p(table, s))| < delta for each s."""
    pairs = [(p, q) for p, q in zip(shares(counts), shares(whole), strict=True) if q]
    return all(p and abs(math.log(p / q)) < delta for p, q in pairs)


def by_definition(name, counts, whole):
    if name == "t_closeness":
        return sum(abs(p - q) for p, q in zip(shares(counts), shares(whole), strict=True)) / 2
    pairs = [(p, q) for p, q in zip(shares(counts), shares(whole), strict=True) if q]
    return max(abs(math.log(p / q)) if p else math.inf for p, q in pairs)


@given(counts_of_leaves)
def test_closeness_is_the_least_mass_that_must_be_moved(leaves):
    whole = np.sum(leaves, axis=0)
    reading = read("t_closeness", evidence_of(flat_tree(leaves))).reading
    assert reading.high == pytest.approx(max(least_work(x, whole) for x in leaves), abs=1e-9)


@given(counts_of_leaves, st.integers(1, 30))
def test_a_tree_is_disclosure_private_exactly_where_delta_is_above_the_reading(leaves, tenths):
    whole, delta = np.sum(leaves, axis=0), tenths / 10
    reading = read("delta_disclosure", evidence_of(flat_tree(leaves))).reading
    assert (reading.high < delta) == all(is_private(x, whole, delta) for x in leaves)


@pytest.mark.parametrize("name", NAMES)
def test_a_leaf_that_is_the_table_is_not_away_from_it(name):
    assert read(name, evidence_of(flat_tree([[14, 6, 1]]))).reading == Interval(0, 0)


def test_a_leaf_that_lacks_a_class_of_the_table_is_private_for_no_delta():
    taken = read("delta_disclosure", evidence_of(flat_tree([[5, 0], [5, 5]])))
    assert taken.reading == Interval(math.inf, math.inf)
    assert taken.spots[0].index == 1


def test_a_class_that_one_record_of_the_table_has_may_be_lacking_too():
    taken = read("delta_disclosure", evidence_of(flat_tree([[5, 1], [5, 0]])))
    assert taken.reading == Interval(math.inf, math.inf)
    assert taken.spots[0].index == 2


def test_a_class_that_nobody_has_is_not_lacking():
    evidence = evidence_of(flat_tree([[4, 0, 4], [1, 0, 1]]))
    assert read("delta_disclosure", evidence).reading == Interval(0, 0)


@pytest.mark.parametrize("name", NAMES)
@given(peopled)
def test_all_that_pruning_could_make_is_held_against_the_table_and_the_root_is_the_table(
    name, tree
):
    people, measure = people_of(tree), measures()[name]
    whole = people.truth.sum(axis=0)
    held, leaves = merging(tree, people, {}).merged
    values = measure.values(leaves, {})
    wanted = [float(by_definition(name, row, whole)) for row in leaves.classes]
    assert values.tolist() == pytest.approx(wanted)
    assert values[held.tolist().index(0)] == 0


@pytest.mark.parametrize("remedy", ["prune_apt", "prune_optimal"])
@given(peopled, st.integers(1, 9))
def test_what_is_pruned_to_be_close_is_close(remedy, tree, tenths):
    pack = pack_of(
        ("t_closeness", "at_most", tenths / 10), ("delta_disclosure", "below", tenths / 4)
    )
    people = people_of(tree)
    for found in remedies()[remedy].propose(tree, people, pack):
        if not isinstance(found, NoProposal):
            moved = replace(people, leaf=route(found.model, people.columns))
            evidence = evidence_of(found.model, moved)
            assert read("t_closeness", evidence).reading.high <= tenths / 10
            assert read("delta_disclosure", evidence).reading.high < tenths / 4


def test_pruning_keeps_the_split_that_is_close_and_mends_the_one_that_is_not():
    tree = deep_tree([[[9, 1], [1, 9]], [[4, 6], [6, 4]]], ("a", "b"))
    (found,) = remedies()["prune_apt"].propose(
        tree, people_of(tree), pack_of(("t_closeness", "at_most", 0.1))
    )
    assert [leaf.class_counts for leaf in found.model.leaves] == [(10, 10), (4, 6), (6, 4)]


@pytest.mark.parametrize("name", NAMES)
def test_the_trees_of_an_ensemble_are_each_held_against_the_table(name):
    table = table_of(
        {
            "age": [20, 30, 50, 60, 70, 80, 90],
            "sex": list("FMFMFMF"),
            "flu": ["no", "yes", "yes", "no", "no", "no", "no"],
        }
    )
    ensemble = forest(stump(40.0, "no", "yes"), stump(55.0, "no", "yes"))
    call = MeasureCall(name)
    taken = audit_model(ensemble, table, "flu", [call]).full.readings[call]
    parts = [[1, 1], [4, 1], [1, 2], [4, 0]]
    assert taken.reading.high == pytest.approx(
        float(max(by_definition(name, each, [5, 2]) for each in parts))
    )
    assert taken.spots[0].tree == 1


@pytest.mark.parametrize("name", NAMES)
def test_under_sampling_weights_the_reading_spans_people_and_their_weights(name):
    tree, table = weighed_tree(
        [20.0, 20.0, 30.0, 30.0, 30.0],
        ["no", "yes", "no", "yes", "yes"],
        [100.0, 90.0, 10.0, 50.0, 50.0],
        max_leaf_nodes=2,
    )
    reading = read(name, evidence_of(tree, people_with_weights(tree, table))).reading
    ends = [
        max(float(by_definition(name, each, whole)) for each in leaves)
        for leaves, whole in [
            ([[1, 1], [1, 2]], [2, 3]),
            ([[100, 90], [10, 100]], [110, 190]),
        ]
    ]
    assert (reading.low, reading.high) == pytest.approx((min(ends), max(ends)))


@pytest.mark.parametrize(
    ("clause", "lacks"),
    [
        (("t_closeness", "at_most", 0.17), False),
        (("t_closeness", "at_most", 0.16), True),
        (("delta_disclosure", "below", 0.41), False),
        (("delta_disclosure", "below", 0.40), True),
    ],
)
def test_groups_of_a_table_are_held_against_it(clause, lacks):
    groups = grouped({"n": numbers([1, 1, 1, 2, 2, 2])}, categories("ppqpqq"))
    assert bool(Clauses(pack_of(clause)).lack(groups)) is lacks


@pytest.mark.parametrize("name", NAMES)
def test_without_the_truth_it_says_why_not(name):
    people = replace(people_of(flat_tree([[1, 2]])), truth=NO_TRUTH)
    assert isinstance(read(name, evidence_of(flat_tree([[1, 2]]), people)).reading, Undetermined)
