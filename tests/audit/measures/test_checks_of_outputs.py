"""What the output checks of research environments ask of a tree, against their definitions on small trees."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.forests import forest, stump
from tests.kit.small_audits import (
    audit_model,
    audit_of,
    deep_tree,
    evidence_of,
    flat_tree,
    pack_of,
    people_of,
    read,
)
from treewarden.audit.measures import MeasureCall
from treewarden.audit.reading import Undetermined, exactly
from treewarden.policies.judging.judge import judge
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Member, NonTreeModel
from treewarden.ppdm_models.tree.tree import Task

counts_of_leaves = st.integers(2, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(0, 12), min_size=m, max_size=m).filter(any), min_size=1, max_size=5
    )
)
sizes = st.integers(1, 12)
TABLE = table_of(
    {"age": [20, 30, 45, 60, 80] * 4, "sex": ["F", "M"] * 10, "flu": ["no", "yes"] * 10}
)
FREEDOM = MeasureCall("residual_freedom")


def verdict(tree, measure, rule, limit):
    pack = pack_of((measure, rule, limit))
    return judge(audit_of(evidence_of(tree), pack), pack).verdict


@given(counts_of_leaves, sizes)
def test_there_is_a_small_group_where_some_class_of_a_leaf_has_a_few_but_not_none(leaves, size):
    """SACRO-ML, structural attack: 0 < count < threshold for any label in any equivalence class."""
    at_risk = any(0 < count < size for leaf in leaves for count in leaf)
    told = verdict(flat_tree(leaves), "smallest_class", "at_least", size)
    assert (told is PolicyVerdict.FAIL) == at_risk


@given(counts_of_leaves)
def test_there_is_class_disclosure_where_some_class_is_absent_from_a_leaf(leaves):
    """SACRO-ML, structural attack: a share of 0 for any label in any equivalence class."""
    at_risk = any(count == 0 for leaf in leaves for count in leaf)
    told = verdict(flat_tree(leaves), "absent_values", "at_most", 0)
    assert (told is PolicyVerdict.FAIL) == at_risk


@given(counts_of_leaves)
def test_absent_and_present_values_are_all_the_values_there_are(leaves):
    evidence = evidence_of(flat_tree(leaves))
    present = read("distinct_diversity", evidence).reading.low
    assert read("absent_values", evidence).reading.high == len(leaves[0]) - present


def test_the_leaf_with_the_smallest_group_and_that_with_most_absent_values_are_named():
    evidence = evidence_of(flat_tree([[30, 20, 0], [30, 0, 0], [40, 30, 2]]))
    smallest, absent = read("smallest_class", evidence), read("absent_values", evidence)
    assert (smallest.reading, smallest.spots[0].index) == (exactly(2), 3)
    assert (absent.reading, absent.spots[0].index) == (exactly(2), 2)


def test_a_class_that_nobody_in_the_table_has_is_absent_from_every_leaf():
    taken = read("absent_values", evidence_of(flat_tree([[5, 5, 0], [6, 4, 0]])))
    assert taken.reading == exactly(1)
    assert len(taken.spots) == 2


@pytest.mark.parametrize(
    ("spec", "fitted"),
    [
        ([[5, 5], [5, 5]], 2 + 2 * 1),
        ([[5, 5, 1], [5, 5, 1]], 2 + 2 * 2),
        ([[[5, 5], [4, 4]], [[3, 3], [2, 2]]], 3 * 2 + 4 * 1),
        ([[5, 5], [5, 5], [5, 5]], 3 + 3 * 1),
    ],
)
def test_what_was_fitted_are_splits_and_the_free_shares_of_leaves(spec, fitted):
    """SACRO-ML, structural attack: 2 per inner node of a binary tree, classes - 1 per leaf."""
    tree = deep_tree(spec, tuple(f"c{code}" for code in range(len(_first_leaf(spec)))))
    people = people_of(tree)
    taken = read("residual_freedom", evidence_of(tree, people))
    assert taken.reading == exactly(people.counts.sum() - fitted)


def _first_leaf(spec):
    return _first_leaf(spec[0]) if isinstance(spec[0], list) else spec


def test_more_may_be_fitted_than_there_are_people():
    tree = flat_tree([[1, 0, 0]] * 5)
    assert read("residual_freedom", evidence_of(tree)).reading == exactly(5 - (5 + 5 * 2))


def test_a_leaf_that_predicts_a_number_holds_one():
    tree = flat_tree([[14, 6, 0], [3, 3, 4]])
    nodes = tuple(replace(node, score=1.5, class_counts=None) for node in tree.nodes)
    numbers = replace(tree, nodes=nodes, classes=(), task=Task.REGRESSION)
    assert read("residual_freedom", evidence_of(numbers, people_of(tree))).reading == exactly(
        30 - (2 + 2)
    )


def test_withholding_numbers_frees_nothing():
    tree = flat_tree([[14, 6], [5, 5]])
    bare = replace(tree, nodes=tuple(replace(node, class_counts=None) for node in tree.nodes))
    people = people_of(tree)
    assert read("residual_freedom", evidence_of(bare, people)) == read(
        "residual_freedom", evidence_of(tree, people)
    )


@pytest.mark.parametrize(
    ("leaves", "fitted"), [(("no", "yes"), 2 + 2 * 1), ((1.5, -1.5), 2 + 2 * 1 + 1)]
)
def test_an_ensemble_holds_what_its_trees_hold_and_the_weights_of_those_that_give_numbers(
    leaves, fitted
):
    """SACRO-ML, structural attack: a sum over the trees of a forest, and one weight a tree for XGBoost."""
    ensemble = forest(stump(40.0, *leaves), stump(70.0, *leaves))
    found = audit_model(ensemble, TABLE, "flu", [FREEDOM], leaks=())
    assert found.full.readings[FREEDOM].reading == exactly(20 - 2 * fitted)


def test_what_was_fitted_in_parts_that_are_no_trees_is_not_known():
    trees = (stump(40.0, "no", "yes"), stump(70.0, "no", "yes"))
    members = (*(Member(tree) for tree in trees), Member(NonTreeModel("regression")))
    ensemble = forest(*trees, members=members)
    found = audit_model(ensemble, TABLE, "flu", [FREEDOM], leaks=())
    reading = found.full.readings[FREEDOM].reading
    assert isinstance(reading, Undetermined)
    assert "parts that are not trees" in reading.reason


def test_what_was_fitted_in_the_terms_of_an_additive_model_is_not_known():
    trees = (stump(40.0, "no", "yes"), stump(70.0, "no", "yes"))
    ensemble = forest(*trees, combination=Combination.ADDITIVE)
    found = audit_model(ensemble, TABLE, "flu", [FREEDOM], leaks=())
    assert isinstance(found.full.readings[FREEDOM].reading, Undetermined)
