"""What the remedies propose, and what they must not touch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.remedies import NoProposal, remedies
from ppdm_models.plugins import summary
from ppdm_models.routing import route
from tests.small_audits import (
    NO_TRUTH,
    audit_of,
    deep_tree,
    evidence_of,
    flat_tree,
    pack_of,
    people_of,
    read,
)

REMEDIES = remedies()
SURE = pack_of(("confidence", "at_most", 0.9))
SMALL = pack_of(("k_anonymity", "at_least", 5))
THREE = flat_tree([[14, 4, 2], [1, 8, 1], [6, 6, 6]])
TWO = flat_tree([[14, 6], [1, 8]])

leaf = st.lists(st.integers(0, 9), min_size=2, max_size=2)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=12)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, ("a", "b")))
peopled = trees.filter(lambda tree: tree.root.records)


def proposed(name, tree, pack, people=None):
    return list(REMEDIES[name].propose(tree, people or people_of(tree), pack))


def told(tree):
    return [node.class_counts for node in tree.leaves]


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_says_what_it_is(name):
    assert summary(REMEDIES[name]).endswith((".", ")."))


def test_class_counts_go_first_and_error_rates_after_them():
    first, second = proposed("redact", THREE, SURE)
    assert told(first.tree) == [(14, None, None), (None, 8, None), (6, None, None)]
    assert first.withheld == ("class counts",)
    assert told(second.tree) == [None, None, None]
    assert second.withheld == ("class counts", "error rates")


def test_numbers_go_at_inner_nodes_too_as_a_parent_gives_away_its_children():
    for proposal in proposed("redact", THREE, SURE):
        assert proposal.tree.root.class_counts is None


@pytest.mark.parametrize("tree", [TWO, THREE])
def test_labels_and_records_stay_so_that_every_prediction_does(tree):
    for proposal in proposed("redact", tree, SURE):
        kept = [(node.score, node.records) for node in proposal.tree.nodes]
        assert kept == [(node.score, node.records) for node in tree.nodes]
        assert proposal.node_map == tuple(range(len(tree.nodes)))


def test_with_two_classes_the_rate_is_the_whole_distribution_so_only_one_step_is_left():
    only = proposed("redact", TWO, SURE)
    assert [proposal.withheld for proposal in only] == [("class counts", "error rates")]


def test_a_label_that_only_the_counts_gave_is_said_outright_before_they_go():
    tree = replace(THREE, nodes=tuple(replace(node, score=None) for node in THREE.nodes))
    for proposal in proposed("redact", tree, SURE):
        assert [node.score for node in proposal.tree.leaves] == ["c0", "c1", "c0"]


def test_shares_are_withheld_too():
    nodes = tuple(
        replace(n, class_counts=None, class_shares=tuple(c / n.records for c in n.class_counts))
        for n in THREE.nodes
    )
    only = proposed("redact", replace(THREE, nodes=nodes), SURE, people_of(THREE))
    assert [proposal.withheld for proposal in only] == [("class counts", "error rates")]
    assert all(node.class_shares is None for node in only[0].tree.nodes)


def test_a_tree_of_labels_has_nothing_left_to_withhold():
    bare = proposed("redact", THREE, SURE)[-1].tree
    assert proposed("redact", bare, SURE, people_of(THREE)) == []


def test_withholding_is_no_remedy_for_clauses_about_leaves():
    assert proposed("redact", THREE, SMALL) == []


@pytest.mark.parametrize(
    "measure",
    ["k_anonymity", "cl_diversity", "distinct_diversity", "entropy_diversity", "label_disclosure"],
)
def test_withholding_changes_no_reading_of_the_leaves(measure):
    before = read(measure, evidence_of(THREE)).reading
    for proposal in proposed("redact", THREE, SURE):
        assert read(measure, evidence_of(proposal.tree, people_of(THREE))).reading == before


def test_withholding_the_rates_lowers_certainty_but_leaves_the_share_guessed_right_open():
    people, labels = people_of(THREE), proposed("redact", THREE, SURE)[-1].tree
    assert read("confidence", evidence_of(labels, people)).reading.high == pytest.approx(1 / 3)
    before = read("guess_accuracy", evidence_of(THREE)).reading
    after = read("guess_accuracy", evidence_of(labels, people)).reading
    assert after.low <= before.low
    assert before.high <= after.high


def test_pruning_proposes_nothing_where_the_leaves_are_fine():
    assert proposed("prune_apt", flat_tree([[14, 6], [5, 8]]), SMALL) == []
    assert proposed("prune_apt", flat_tree([[4, 0], [0, 1]]), SURE) == []


def test_a_warning_is_no_demand():
    pack = pack_of(("k_anonymity", "at_least", 5, "warning"))
    assert proposed("prune_apt", flat_tree([[1, 0], [5, 8]]), pack) == []


def test_where_pruning_leaves_no_tree_it_says_so():
    (nothing,) = proposed("prune_apt", flat_tree([[1, 0], [5, 8]]), SMALL)
    assert isinstance(nothing, NoProposal)
    assert "no tree" in nothing.reason


def test_without_the_truth_pruning_says_which_clause_it_cannot_meet():
    people = replace(people_of(TWO), truth=NO_TRUTH)
    (nothing,) = proposed("prune_apt", TWO, pack_of(("distinct_diversity", "at_least", 2)), people)
    assert nothing.reason.endswith(f"clause '0-distinct_diversity': {NO_TRUTH.reason}")


def test_without_the_truth_pruning_can_still_meet_a_size():
    tree = deep_tree([[[1, 2], [4, 4]], [9, 9]], ("a", "b"))
    people = replace(people_of(tree), truth=NO_TRUTH)
    (proposal,) = proposed("prune_apt", tree, SMALL, people)
    assert [leaf.records for leaf in proposal.tree.leaves] == [11, 18]
    assert [leaf.score for leaf in proposal.tree.leaves] == ["b", "a"]


def test_records_that_stop_at_an_inner_node_are_counted_there():
    tree = deep_tree([[[9, 2], [4, 4]], [9, 9]], ("a", "b"))
    people = people_of(tree)
    stuck = replace(
        people,
        columns={
            name: column.take(np.array([0, 1, 2, 0])) for name, column in people.columns.items()
        },
        counts=np.append(people.counts, 1.0),
        leaf=np.append(people.leaf, 1),
        truth=np.vstack([people.truth, [1, 0]]),
    )
    (proposal,) = proposed("prune_apt", tree, SMALL, stuck)
    assert [leaf.name for leaf in proposal.tree.leaves] == ["n1", "n4"]


@given(peopled, st.integers(1, 25), st.floats(0.5, 1))
def test_after_pruning_every_leaf_clause_passes(tree, k, share):
    pack = pack_of(
        ("k_anonymity", "at_least", k),
        ("label_disclosure", "at_most", share),
        ("cl_diversity", "below", 50),
    )
    people = people_of(tree)
    for found in REMEDIES["prune_apt"].propose(tree, people, pack):
        if isinstance(found, NoProposal):
            continue
        moved = replace(people, leaf=route(found.tree, people.columns))
        assert moved.leaf.tolist() == [found.node_map[index] for index in people.leaf]
        taken = audit_of(evidence_of(found.tree, moved), pack).measurements
        readings = {c.measure: m.reading for c, m in taken.items()}
        assert readings["k_anonymity"].low >= k
        assert readings["label_disclosure"].high <= share
        assert readings["cl_diversity"].high < 50
