"""Repairs: nothing is recommended that did not pass the same audit, and the cheapest is."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.reading import Undetermined
from audit.system import Dropped
from policies.judge import judge
from policies.repair import Given, repair
from policies.verdict import Verdict
from ppdm_models.errors import KnowledgeError, TaxonomyError
from ppdm_models.taxonomy import Categories
from tests.small_audits import (
    NO_TRUTH,
    auditor,
    deep_tree,
    flat_tree,
    pack_of,
    people_of,
)

CLASSES = ("a", "b", "c")
LEAVES = pack_of(("k_anonymity", "at_least", 5))
SURE_CLAUSES = (("confidence", "at_most", 0.65),)
SURE = pack_of(*SURE_CLAUSES)
BOTH_CLAUSES = (
    ("k_anonymity", "at_least", 5),
    ("confidence", "at_most", 0.65),
)
BOTH = pack_of(*BOTH_CLAUSES)
# The first split has a leaf of two; the label of its sound leaf has 7 of 10.
MENDABLE = deep_tree([[[7, 2, 1], [0, 2, 0]], [4, 4, 6]], CLASSES)

leaf = st.lists(st.integers(0, 9), min_size=3, max_size=3)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=9)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, CLASSES))
peopled = trees.filter(lambda tree: tree.root.records)


def repaired(tree, pack, people=None, audit=None):
    people = people or people_of(tree)
    return repair(tree, people, audit or auditor(people, pack), pack)


def test_a_tree_that_passes_is_left_alone():
    result = repaired(flat_tree([[5, 4, 4], [6, 5, 5]]), BOTH)
    assert (result.attempts, result.recommended, result.is_needed) == ((), None, False)
    assert result.message == "The tree passes as it is; nothing needs to change."


def test_withholding_does_not_mend_certainty_while_believing_the_labels_gives_it():
    result = repaired(flat_tree([[14, 4, 2], [5, 8, 5]]), SURE)
    assert result.recommended is None
    assert {attempt.verdict for attempt in result.attempts} == {Verdict.FAIL, Verdict.UNDETERMINED}


def test_a_small_leaf_is_pruned_and_nothing_is_withheld_for_it():
    result = repaired(MENDABLE, LEAVES)
    assert [attempt.proposal.remedies for attempt in result.attempts] == [("prune_apt",)]
    assert result.recommended.verdict is Verdict.PASS
    assert result.recommended.cost.leaves_lost == 1
    assert result.recommended.cost.withheld == ()


def test_certainty_alone_is_mended_by_withholding_where_the_labels_may_be_believed():
    tree = flat_tree([[14, 4, 2], [5, 8, 5]])
    result = repaired(tree, pack_of(*SURE_CLAUSES, ("label_disclosure", "at_most", 0.8)))
    assert result.recommended.proposal.withheld == ("class counts finer than 5 in 1 of 2 leaves",)
    cost = result.recommended.cost
    assert (cost.leaves_lost, cost.predictions_changed) == (0, 0)
    assert cost.accuracy_before == cost.accuracy_after


def test_withholding_follows_pruning_where_pruning_is_not_enough():
    tree = deep_tree([[[12, 2, 1], [0, 2, 0]], [4, 4, 6]], CLASSES)
    result = repaired(tree, pack_of(*BOTH_CLAUSES, ("label_disclosure", "at_most", 0.8)))
    tried = [attempt.proposal.remedies for attempt in result.attempts]
    assert tried[0] == ("prune_apt",)
    assert set(tried[1:]) == {("prune_apt", "redact")}
    assert result.recommended.proposal.title.startswith("prune: 1 node becomes a leaf")
    assert result.recommended.proposal.node_map == (0, 1, 1, 1, 2)


def test_of_two_changes_that_pass_the_one_that_withholds_less_is_recommended():
    tree = flat_tree([[10, 9, 1], [3, 8, 7]])
    result = repaired(tree, pack_of(("kl_individual", "at_least", 0.001)))
    passing = {
        a.proposal.withheld: a.cost.numbers_withheld
        for a in result.attempts
        if a.verdict is Verdict.PASS
    }
    assert passing["class counts",] == pytest.approx(2 / 3)
    assert passing["class counts", "error rates"] == 1
    assert result.recommended.cost.numbers_withheld == min(passing.values()) < 2 / 3


def test_the_cost_is_counted_over_the_records():
    cost = repaired(MENDABLE, LEAVES).recommended.cost
    # The leaf of two said b and says a now; all else is as it was.
    assert cost.predictions_changed == pytest.approx(2 / 26)
    assert cost.accuracy_before.low == pytest.approx((7 + 2 + 6) / 26)
    assert cost.accuracy_after.low == pytest.approx((7 + 0 + 6) / 26)


def test_without_the_truth_the_accuracy_is_not_told_but_the_changes_are():
    people = replace(people_of(MENDABLE), truth=NO_TRUTH)
    cost = repaired(MENDABLE, LEAVES, people).recommended.cost
    assert (cost.accuracy_before, cost.accuracy_after) == (NO_TRUTH, NO_TRUTH)
    assert cost.predictions_changed == pytest.approx(2 / 26)


def test_where_nothing_passes_the_nearest_is_named_with_what_it_lacks():
    pack = pack_of(("k_anonymity", "at_least", 5), ("disclosure", "at_most", 0.2))
    result = repaired(MENDABLE, pack)
    assert result.recommended is None
    assert result.nearest in result.attempts
    assert "Nothing that was tried passes. Nearest: prune" in result.message
    assert "the policy asks for at most 20 %" in result.message


def test_an_empty_tree_is_said_plainly():
    result = repaired(flat_tree([[1, 0, 0], [5, 8, 3]]), LEAVES)
    assert (result.attempts, result.recommended, result.nearest) == ((), None, None)
    assert "Pruning leaves no tree" in result.message


def test_withholding_is_not_tried_while_leaves_fail():
    result = repaired(flat_tree([[1, 0, 0], [5, 8, 3]]), BOTH)
    assert [each.remedies for each in result.refusals] == [("prune_apt",), ("prune_optimal",)]
    assert result.attempts == ()


def test_siblings_merge_by_the_hierarchies_given():
    tree = flat_tree([[3, 1, 0], [2, 1, 0], [5, 5, 8]])
    paths = {"p0": ("p0", "near", "*"), "p1": ("p1", "near", "*"), "p2": ("p2", "far", "*")}
    people = people_of(tree)
    near = {"place": Categories("place", paths)}
    result = repair(tree, people, auditor(people, LEAVES), LEAVES, Given(near))
    assert [leaf.records for leaf in result.recommended.proposal.tree.leaves] == [7, 18]
    assert repaired(tree, LEAVES).recommended is None


def test_a_hierarchy_of_a_column_that_is_not_there_is_an_error():
    people = people_of(MENDABLE)
    with pytest.raises(TaxonomyError, match="no such column"):
        repair(
            MENDABLE,
            people,
            auditor(people, LEAVES),
            LEAVES,
            Given({"x": Categories("x", {"a": ("a", "*")})}),
        )


def test_what_could_not_be_told_is_never_recommended():
    people = people_of(MENDABLE)
    audit = auditor(people, BOTH)

    def stalls(tree):
        result = audit(tree)
        stalled = replace(result.evidence, posterior=Undetermined("the solver stalled"))
        lost = {
            call: type(taken)(Undetermined("the solver stalled"))
            if call.measure == "confidence"
            else taken
            for call, taken in result.measurements.items()
        }
        return replace(result, evidence=stalled, measurements=lost)

    result = repaired(MENDABLE, BOTH, people, stalls)
    assert result.recommended is None
    assert all(attempt.verdict is Verdict.UNDETERMINED for attempt in result.attempts)


def test_a_change_that_cannot_be_audited_is_reported_and_not_recommended():
    people = people_of(MENDABLE)
    audit = auditor(people, LEAVES)

    def refuses(tree):
        if tree != MENDABLE:
            raise KnowledgeError("leaf n1", "no counts; choose leaf = 'labels'")
        return audit(tree)

    result = repaired(MENDABLE, LEAVES, people, refuses)
    assert result.recommended is None
    assert result.attempts[0].problem == "leaf n1: no counts; choose leaf = 'labels'"
    assert "It could not be audited in full: leaf n1" in result.message


def test_a_table_that_contradicts_the_file_is_not_mended_by_changing_the_tree():
    people = people_of(MENDABLE)
    dropped = (Dropped("leaf_rate", "loan.pmml", "says 5, the table has 4", is_published=True),)

    def doubted(tree):
        return replace(auditor(people, LEAVES)(tree), dropped=dropped)

    result = repaired(MENDABLE, LEAVES, people, doubted)
    assert result.attempts == ()
    assert result.message.startswith("No change to the tree can help. What the file publishes")


@settings(deadline=None)
@given(peopled, st.integers(1, 20), st.sampled_from([0.5, 0.7, 0.9]))
def test_a_recommendation_passes_when_it_is_audited_again(tree, k, sure):
    pack = pack_of(
        ("k_anonymity", "at_least", k),
        ("label_disclosure", "at_most", 0.9),
        ("confidence", "at_most", sure),
    )
    people = people_of(tree)
    result = repaired(tree, pack, people)
    if result.recommended:
        audited = auditor(people, pack)(result.recommended.proposal.tree)
        assert judge(audited, pack).verdict is Verdict.PASS
        passing = [a.cost.rank for a in result.attempts if a.verdict is Verdict.PASS]
        assert result.recommended.cost.rank == min(passing)
    for attempt in result.attempts:
        now = attempt.audit.evidence.population.leaf
        assert now.tolist() == [attempt.proposal.node_map[index] for index in people.leaf]
