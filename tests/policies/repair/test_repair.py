"""Repairs: nothing is recommended that did not pass the same audit, and the cheapest is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.small_audits import (
    NO_TRUTH,
    auditor,
    deep_tree,
    flat_tree,
    pack_of,
    people_of,
)
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.policies.judging.judge import judge
from treewarden.policies.remedies import remedies
from treewarden.policies.repair.repair import RepairResources, repair
from treewarden.policies.repair.utility import holdout_of
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import KnowledgeError, RemedyError, TaxonomyError
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.taxonomy import Categories
from treewarden.ppdm_models.tree.tree import Criterion, Feature

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
    assert {attempt.verdict for attempt in result.attempts} == {
        PolicyVerdict.FAIL,
        PolicyVerdict.UNDETERMINED,
    }


def test_a_small_leaf_is_pruned_and_nothing_is_withheld_for_it():
    result = repaired(MENDABLE, LEAVES)
    assert [attempt.proposal.remedies for attempt in result.attempts] == [("prune_apt",)]
    assert result.recommended.verdict is PolicyVerdict.PASS
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
    assert result.recommended.proposal.title.startswith("1 node becomes a leaf")
    assert result.recommended.proposal.node_map == (0, 1, 1, 1, 2)


def test_of_two_changes_that_pass_the_one_that_withholds_less_is_recommended():
    tree = flat_tree([[10, 9, 1], [3, 8, 7]])
    result = repaired(tree, pack_of(("kl_individual", "at_least", 0.001)))
    passing = {
        a.proposal.withheld: a.cost.numbers_withheld
        for a in result.attempts
        if a.verdict is PolicyVerdict.PASS
    }
    assert passing["class counts",] == pytest.approx(2 / 3)
    assert passing["class counts", "error rates"] == 1
    assert result.recommended.cost.numbers_withheld == min(passing.values()) < 2 / 3


def test_labels_only_passes_where_record_counts_do_and_is_never_recommended_before_them():
    tree = flat_tree([[10, 9, 1], [3, 8, 7]])
    result = repaired(
        tree, pack_of(("confidence", "at_most", 0.35), ("label_disclosure", "at_most", 1))
    )
    passing = [a.proposal.withheld for a in result.attempts if a.verdict is PolicyVerdict.PASS]
    assert passing[-1] == ("class counts", "error rates", "record counts")
    assert "record counts" not in str((result.recommended.proposal.withheld, passing[:-1]))
    assert not next(a for a in result.attempts if a.proposal.withheld == passing[-1]).is_unbeaten


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
    assert "No change that was tried passes. Nearest: 1 node becomes a leaf" in result.message
    assert result.message.endswith("gives to a person's true value.")


def test_an_empty_tree_is_said_plainly():
    result = repaired(flat_tree([[1, 0, 0], [5, 8, 3]]), LEAVES)
    assert (result.attempts, result.recommended, result.nearest) == ((), None, None)
    assert "Pruning leaves no tree" in result.message


def test_withholding_is_not_tried_while_leaves_fail():
    result = repaired(flat_tree([[1, 0, 0], [5, 8, 3]]), BOTH)
    tried = {name for each in result.refusals for name in each.remedies}
    assert {"prune_apt", "prune_optimal"} <= tried
    assert all(remedies()[name].mends_leaves for name in tried)
    assert result.attempts == ()


def test_siblings_merge_by_the_hierarchies_given():
    tree = flat_tree([[3, 1, 0], [2, 1, 0], [5, 5, 8]])
    paths = {"p0": ("p0", "near", "*"), "p1": ("p1", "near", "*"), "p2": ("p2", "far", "*")}
    people = people_of(tree)
    near = {"place": Categories("place", paths)}
    result = repair(tree, people, auditor(people, LEAVES), LEAVES, RepairResources(near))
    assert [leaf.records for leaf in result.recommended.proposal.model.leaves] == [7, 18]
    assert repaired(tree, LEAVES).recommended is None


def test_a_hierarchy_of_a_column_that_is_not_there_is_an_error():
    people = people_of(MENDABLE)
    with pytest.raises(TaxonomyError, match="no such column"):
        repair(
            MENDABLE,
            people,
            auditor(people, LEAVES),
            LEAVES,
            RepairResources({"x": Categories("x", {"a": ("a", "*")})}),
        )


def test_what_could_not_be_told_is_never_recommended():
    people = people_of(MENDABLE)
    audit = auditor(people, BOTH)

    def stalls(tree):
        result = audit(tree)
        stalled = replace(result.full.evidence, posterior=Undetermined("the solver stalled"))
        lost = {
            call: type(taken)(Undetermined("the solver stalled"))
            if call.measure == "confidence"
            else taken
            for call, taken in result.full.readings.items()
        }
        return Audit((replace(result.full, evidence=stalled, readings=lost),))

    result = repaired(MENDABLE, BOTH, people, stalls)
    assert result.recommended is None
    assert all(attempt.verdict is PolicyVerdict.UNDETERMINED for attempt in result.attempts)


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
    dropped = (DroppedRow("leaf_rate", "loan.pmml", "says 5, the table has 4", is_published=True),)

    def doubted(tree):
        return Audit((replace(auditor(people, LEAVES)(tree).full, dropped=dropped),))

    result = repaired(MENDABLE, LEAVES, people, doubted)
    assert result.attempts == ()
    assert result.message.startswith(
        "No change to the tree can help. The file contradicts this table"
    )


def test_a_change_whose_audit_was_lost_is_reported_and_not_recommended():
    people = people_of(MENDABLE)
    lost = RemedyError("the audit", "its process ended")
    result = repair(
        MENDABLE,
        people,
        auditor(people, LEAVES),
        LEAVES,
        None,
        lambda trees, most: ((number, lost) for number, _ in enumerate(trees)),
    )
    assert result.recommended is None
    assert [attempt.verdict for attempt in result.attempts] == [PolicyVerdict.UNDETERMINED]
    assert result.attempts[0].problem == "the audit: its process ended"


def test_all_changes_of_a_round_are_audited_together():
    tree = deep_tree([[[12, 2, 1], [0, 2, 0]], [4, 4, 6]], CLASSES)
    pack = pack_of(*BOTH_CLAUSES, ("label_disclosure", "at_most", 0.8))
    people, rounds = people_of(tree), []
    audit = auditor(people, pack)

    def audit_all(proposals, most):
        rounds.append(most)
        for number, each in enumerate(proposals):
            yield number, audit(each.model)

    result = repair(tree, people, audit, pack, None, audit_all)
    assert len(rounds) == 2
    assert sum(rounds) == len(result.attempts)


def test_every_change_has_a_name_of_its_own_that_says_what_was_done():
    tree = deep_tree([[[12, 2, 1], [0, 2, 0]], [4, 4, 6]], CLASSES)
    result = repaired(tree, pack_of(*BOTH_CLAUSES, ("label_disclosure", "at_most", 0.8)))
    names = [attempt.name for attempt in result.attempts]
    assert names[:2] == ["prune_apt", "prune_apt+redact-1"]
    assert len(set(names)) == len(names)


def test_a_change_that_costs_more_than_one_that_passes_is_not_combined_further():
    result = repaired(MENDABLE, pack_of(*BOTH_CLAUSES, ("label_disclosure", "at_most", 0.9)))
    passing = min(a.cost.rank for a in result.attempts if a.verdict is PolicyVerdict.PASS)
    bases = {a.name.rpartition("+")[0] for a in result.attempts if "+" in a.name}
    by_name = {a.name: a for a in result.attempts}
    assert all(by_name[base].cost.rank < passing for base in bases)


def test_accuracy_weighs_more_than_leaves():
    cheap = repaired(MENDABLE, LEAVES).recommended.cost
    fewer = replace(cheap, leaves_after=1, utility_after=cheap.utility_before)
    assert fewer.rank < cheap.rank


def test_without_accuracy_lost_withholding_comes_before_pruning():
    cost = repaired(MENDABLE, LEAVES).recommended.cost
    free = replace(cost, accuracy_after=cost.accuracy_before, predictions_changed=0.0)
    withheld = replace(free, leaves_after=free.leaves_before, numbers_withheld=1.0)
    assert withheld.rank < free.rank


def test_records_held_out_say_what_is_lost():
    columns = {"f0": ["v0"], "f1": ["v1"], "illness": ["b"]}  # the leaf that is pruned said b
    holdout = holdout_of(MENDABLE, table_of(columns))
    people = people_of(MENDABLE)
    given_ = RepairResources(holdout=holdout)
    cost = repair(MENDABLE, people, auditor(people, LEAVES), LEAVES, given_).recommended.cost
    assert (cost.loss_before.low, cost.loss_after.low) == (0, 1)
    assert repaired(MENDABLE, LEAVES).recommended.cost.loss_after is None


@pytest.fixture(scope="module")
def grown():
    """Return a tree grown best split first, its table, and its people: one leaf of it holds two."""
    rows = [("x", "m", "a", 6), ("x", "m", "b", 2), ("y", "m", "a", 2), ("y", "m", "b", 6)]
    rows += [("x", "n", "b", 2)]
    flat = [row[:3] for row in rows for _ in range(row[3])]
    table = table_of(dict(zip(("f", "g", "illness"), zip(*flat, strict=True), strict=True)))
    features = (Feature("f", False, ("x", "y")), Feature("g", False, ("m", "n")))
    columns = {each.name: table.column(each) for each in features}
    codes = table.column(Feature("illness", False, ("a", "b"))).codes
    growth = BestFirst("gini").growth(columns, of_classes("illness", codes, ("a", "b")), 2)
    tree = growth.tree(2)
    tree = replace(tree, learner=replace(tree.learner, criterion=Criterion.GINI))
    return tree, table, build_population(tree, table, sensitive="illness")


def test_a_table_goes_with_the_tree_only_where_it_is_given(grown):
    tree, table, people = grown
    pack = pack_of(("k_anonymity", "at_least", 4))
    audit = auditor(people, pack)
    without = repair(tree, people, audit, pack)
    with_table = repair(tree, people, audit, pack, RepairResources(table=table))
    assert "sanitize_tpp" not in {attempt.name for attempt in without.attempts}
    found = next(each for each in with_table.attempts if each.name == "sanitize_tpp")
    assert (found.verdict, found.problem) == (PolicyVerdict.PASS, "")


def test_a_table_that_clauses_say_nothing_of_is_no_pass(grown):
    tree, table, people = grown
    pack = pack_of(("k_anonymity", "at_least", 4), ("confidence", "at_most", 0.99))
    result = repair(tree, people, auditor(people, pack), pack, RepairResources(table=table))
    found = next(each for each in result.attempts if each.name == "sanitize_tpp")
    assert found.verdict is PolicyVerdict.UNDETERMINED
    assert found.problem == "not judged for the table that is published with the tree: 1-confidence"
    assert not any(each.name.startswith("sanitize_tpp+") for each in result.attempts)


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
        audited = auditor(people, pack)(result.recommended.proposal.model)
        assert judge(audited, pack).verdict is PolicyVerdict.PASS
        passing = [a.cost.rank for a in result.attempts if a.verdict is PolicyVerdict.PASS]
        assert result.recommended.cost.rank == min(passing)
        assert result.recommended.is_unbeaten
    for attempt in result.attempts:
        now = attempt.audit.full.evidence.population.leaf
        assert now.tolist() == [attempt.proposal.node_map[index] for index in people.leaf]


def test_a_repair_that_tells_nobody_apart_says_so():
    # The leaf of two is merged with its sibling: all that is left predicts a, as the other leaf does.
    tree = deep_tree([[[7, 2, 1], [0, 2, 0]], [6, 4, 4]], CLASSES)
    found = repaired(tree, LEAVES)
    assert found.recommended is not None
    assert found.recommended.cost.only_label == "a"
    assert "“a” is then predicted for everybody" in found.message
    assert repaired(MENDABLE, BOTH).recommended.cost.only_label == ""
