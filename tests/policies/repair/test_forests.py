"""Repairing an ensemble: every tree is pruned over its own people, what it costs is told of all trees together."""

from dataclasses import replace

import pytest

from tests.kit.forests import FEATURES, by_sex, forest, stump
from tests.kit.small_audits import pack_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.repair.repair import RepairResources, repair
from treewarden.policies.repair.utility import holdout_of
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.taxonomy import Categories
from treewarden.ppdm_models.tree.ensemble import Combination, Link, Member, NonTreeModel
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Task,
    Tree,
)

AGES = [20, 25, 30, 35, 45, 45, 55, 60, 60, 80]
FLU = ["no", "no", "yes", "no", "yes", "yes", "yes", "no", "yes", "yes"]
TABLE = table_of({"age": AGES, "sex": list("FMFMFMFMFM"), "flu": FLU})
THREE = pack_of(("k_anonymity", "at_least", 3))


def deep(*numbers):
    """Return a tree with leaves of 2, 2 and 6 people: below 30, from there to 40, above."""
    score = numbers or ("no", "yes", "yes")
    nodes = (
        Node(0, "0", None, (1, 4)),
        Node(1, "1", 0, (2, 3), NumericTest("age", high=40.0)),
        Node(2, "2", 1, (), NumericTest("age", high=30.0), score[0]),
        Node(3, "3", 1, (), NumericTest("age", 30.0, low_closed=True), score[1]),
        Node(4, "4", 0, (), NumericTest("age", 40.0, low_closed=True), score[2]),
    )
    return replace(stump(40.0, score[0], score[2]), nodes=nodes)


def repaired(model, pack=THREE, table=TABLE, given=None):
    people = build_population(model, table, sensitive="flu" if "flu" in table.columns else None)

    def audit(one):
        return run(one, people, Knowledge(), calls(pack), leaks=())

    return repair(model, people, audit, pack, given)


def test_only_trees_that_break_a_clause_change_and_the_title_counts_them():
    found = repaired(forest(deep(), by_sex("yes", "no"), stump(50.0, "no", "yes")))
    best = found.recommended
    assert best.proposal.title == "1 of 3 trees changes, so 6 of 7 leaves remain"
    assert (best.verdict, best.cost.leaves_before, best.cost.leaves_after) == (
        PolicyVerdict.PASS,
        7,
        6,
    )
    assert list(best.proposal.model.trees)[1:] == list(
        forest(by_sex("yes", "no"), stump(50.0, "no", "yes")).trees
    )


def test_what_another_remedy_comes_to_again_is_not_tried_twice():
    found = repaired(forest(deep(), by_sex("yes", "no")))
    assert [each.name for each in found.attempts] == ["prune_apt"]


def test_where_no_tree_has_to_change_nothing_is_proposed():
    sure = pack_of(("exposed_values", "at_most", 0), ("k_anonymity", "at_least", 1))
    found = repaired(forest(stump(79.0, "no", "yes"), by_sex("yes", "no")), sure)
    assert (found.is_needed, found.attempts) == (True, ())
    assert [each.remedies for each in found.refusals] == [("redact",)]


def test_a_tree_that_says_the_same_to_everybody_stays_as_one_leaf():
    found = repaired(forest(by_sex("yes", "no"), stump(79.0, "no", "yes")))
    lone = list(found.recommended.proposal.model.trees)[1]
    assert (len(lone.nodes), lone.root.score) == (1, "yes")
    assert "changes, 1 of them to a single leaf, so 3 of 4" in found.recommended.proposal.title


def test_a_forest_in_which_no_tree_keeps_a_split_is_no_repair():
    found = repaired(forest(stump(79.0, "no", "yes"), stump(22.0, "no", "yes")))
    assert (found.attempts, found.recommended) == ((), None)
    assert "No tree keeps a split" in found.message


def test_where_not_even_everybody_together_is_enough_it_says_which_tree():
    few = pack_of(("k_anonymity", "at_least", 11))
    found = repaired(forest(by_sex("yes", "no"), stump(50.0, "no", "yes")), few)
    assert "tree 1 of 2 (forest.json): even a single leaf" in found.refusals[0].reason


def test_parts_that_are_no_trees_weights_and_nested_ensembles_stay():
    inner = replace(forest(deep()), combination=Combination.WEIGHTED_MAJORITY_VOTE)
    members = (
        Member(by_sex("yes", "no"), 0.25, name="a"),
        Member(NonTreeModel("RegressionModel")),
        Member(inner, 0.5, test=CategoryTest("sex", ("F", "M"))),
    )
    model = forest(by_sex("yes", "no"), members=members, combination=Combination.SELECT_ALL)
    found = repaired(model).attempts[0].proposal.model
    (kept,) = inner.members
    pruned = next(found.members[2].model.trees)
    assert len(pruned.nodes) == 3
    inside = replace(inner, members=(replace(kept, model=pruned),))
    assert found == replace(model, members=(*members[:2], replace(members[2], model=inside)))


def test_a_tree_is_pruned_over_those_it_speaks_to():
    old, young = (NumericTest("age", low=low, high=high) for low, high in ((40, 99), (0, 40)))
    # It asks six people of 40 or more, of whom two are below 50; everybody else is asked elsewhere.
    members = (
        Member(stump(50.0, "no", "yes"), test=old),
        Member(stump(10.0, "no", "yes"), test=young),
        Member(by_sex("yes", "no")),
    )
    model = forest(deep(), members=members, combination=Combination.SELECT_FIRST)
    found = repaired(model).recommended
    assert [len(tree.leaves) for tree in found.proposal.model.trees] == [1, 2, 2]


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        (Missing.WEIGHTED_CONFIDENCE, "with missing values over several leaves"),
        (Missing.NULL_PREDICTION, "some records are in no leaf of it"),
    ],
)
def test_nothing_is_guessed_where_somebody_is_in_no_leaf_or_in_several(missing, reason):
    table = table_of({"age": [None, *AGES], "sex": list("FFMFMFMFMFM"), "flu": ["no", *FLU]})
    model = forest(by_sex("yes", "no"), replace(deep(), missing=missing))
    found = repaired(model, table=table)
    assert found.attempts == ()
    assert reason in found.message


def test_draws_of_a_sample_are_never_read_as_people():
    mixed = ("cl_diversity", "below", 1.5, {"basis": "published"})
    counted = stump(40.0, "no", "yes", counts=(9.0, 1.0))
    found = repaired(forest(counted, deep(), resampled=True), pack_of(mixed))
    assert found.attempts == ()
    assert "bootstrap sample" in found.refusals[0].reason


def test_the_label_of_a_merged_leaf_goes_with_the_draws_that_predictions_are_made_from():
    told = (None, None, (0.0, 5.0), (1.0, 0.0), (2.0, 2.0))
    labelled = deep("yes", "no", "yes")
    nodes = [replace(n, class_counts=c) for n, c in zip(labelled.nodes, told, strict=True)]
    drawn = replace(labelled, nodes=tuple(nodes), quality=Quality.EXACT)
    found = repaired(forest(drawn, by_sex("yes", "no"), resampled=True)).recommended.proposal.model
    leaf = next(found.trees).nodes[1]
    # Of its four people three say no; of the six that were drawn, five said yes.
    assert (leaf.score, leaf.class_counts) == ("yes", (1.0, 5.0))
    assert next(found.trees).quality is Quality.EXACT


def test_a_clause_about_labels_cannot_be_met_by_trees_of_numbers():
    model = forest(deep(0.5, 1.5, 2.5), classes=("no", "yes"), task=Task.CLASSIFICATION)
    found = repaired(model, pack_of(("label_disclosure", "at_most", 0.6)))
    assert found.decision.verdict is PolicyVerdict.UNDETERMINED
    assert "the tree predicts a number" in found.refusals[0].reason


def test_a_clause_that_cannot_be_told_stays_so_and_the_others_are_mended():
    model = forest(deep(0.5, 1.5, 2.5), classes=("no", "yes"), task=Task.CLASSIFICATION)
    both = (("label_disclosure", "at_most", 0.6), ("k_anonymity", "at_least", 3))
    found = repaired(model, pack_of(*both))
    assert (found.recommended, found.nearest.verdict) == (None, PolicyVerdict.UNDETERMINED)
    assert [finding.requirement.measure for finding in found.nearest.decision.failing] == [
        "label_disclosure"
    ]


def test_classes_in_another_order_are_put_right():
    mixed = stump(79.0, "no", "yes", classes=("yes", "no"))
    found = repaired(forest(by_sex("yes", "no"), mixed, classes=("no", "yes")))
    assert list(found.recommended.proposal.model.trees)[1].root.score == "yes"


def test_a_merged_number_is_the_mean_of_what_its_people_were_told():
    numbers = table_of({"age": [*AGES, 35], "sex": list("FMFMFMFMFMF")})
    found = repaired(forest(deep(1.0, 4.0, 9.0), stump(50.0, 1.0, 2.0)), table=numbers)
    leaf = next(found.recommended.proposal.model.trees).nodes[1]
    assert leaf.score == pytest.approx((2 * 1.0 + 3 * 4.0) / 5)


def compact(*scores):
    """Return a tree as JPMML compacts it: what no child takes stops at the inner node, whose number is theirs alone."""
    nodes = (
        Node(0, "0", None, (1,), score=scores[0]),
        Node(1, "1", 0, (2,), NumericTest("age", high=40.0), scores[1]),
        Node(2, "2", 1, (), NumericTest("age", high=30.0), scores[2]),
    )
    tree = replace(stump(40.0, 1.0, 2.0), nodes=nodes)
    return replace(tree, no_true_child=NoTrueChild.LAST_PREDICTION)


def test_the_number_of_those_left_over_is_not_taken_for_that_of_all():
    table = table_of({"age": [*AGES, 35], "sex": list("FMFMFMFMFMF")})
    found = repaired(forest(compact(9.0, 4.0, 1.0), stump(50.0, 1.0, 2.0)), table=table)
    tree = next(found.recommended.proposal.model.trees)
    assert [node.score for node in tree.nodes] == [9.0, pytest.approx(14 / 5)]


def test_costs_are_those_of_all_trees_together():
    model = forest(deep("yes", "no", "yes"), stump(50.0, "yes", "yes"), by_sex("yes", "yes"))
    cost = repaired(model).recommended.cost
    # Two trees outvote the one that changes.
    assert (cost.predictions_changed, cost.accuracy_lost) == (0.0, 0.0)
    alone = repaired(forest(deep("yes", "no", "yes"))).recommended.cost
    assert alone.predictions_changed == pytest.approx(2 / 10)
    assert alone.accuracy_before.low == pytest.approx(0.6)


def test_numbers_that_differ_are_changed_predictions():
    model = forest(deep(1.0, 4.0, 9.0), stump(50.0, 1.0, 2.0))
    cost = (
        repaired(model, table=table_of({"age": AGES, "sex": list("FMFMFMFMFM")})).attempts[0].cost
    )
    assert cost.predictions_changed == pytest.approx(4 / 10)
    assert isinstance(cost.accuracy_after, Undetermined)


def test_what_is_not_evaluated_is_not_called_free_of_cost():
    model = forest(deep(1.0, 4.0, 9.0), stump(50.0, 1.0, 2.0), link=Link.UNKNOWN)
    table = table_of({"age": AGES, "sex": list("FMFMFMFMFM")})
    cost = repaired(model, table=table).recommended.cost
    assert "does not say how scores become a prediction" in cost.predictions_changed.reason
    assert cost.rank[1] == 1.0


def test_the_loss_on_records_held_out_is_that_of_all_trees():
    model = forest(deep("yes", "no", "yes"))
    held = table_of(
        {"age": [20, 33, 33, 50], "sex": list("FMFM"), "flu": ["yes", "no", "yes", "maybe"]}
    )
    cost = repaired(model, given=RepairResources(holdout=holdout_of(model, held))).recommended.cost
    assert (cost.loss_before.low, cost.loss_after.low) == (0.5, 0.75)
    numbers = forest(deep(1.0, 3.0, 9.0), target="")
    scored = table_of({"age": [20, 33], "sex": ["F", "M"], "pay": [1, 5]})
    assert holdout_of(numbers, scored, "pay").loss(numbers).low == pytest.approx(2.0)
    with pytest.raises(TableError, match="does not name its target"):
        holdout_of(numbers, scored)


@pytest.mark.parametrize("name", shipped_packs())
def test_no_pack_that_ships_is_met_and_the_pruned_ensemble_is_named_as_nearest(name):
    told = {"sex": list("FM") * 41, "flu": ["no", "no", "yes", "yes"] * 20 + ["no", "yes"]}
    table = table_of({"age": [*AGES * 8, 1, 1], **told})
    model = forest(stump(2.0, "no", "yes"), by_sex("yes", "no"))
    found = repaired(model, load_pack(name), table)
    assert (found.recommended, found.nearest.verdict) == (None, PolicyVerdict.UNDETERMINED)
    assert "Nearest: 1 of 2 trees changes" in found.message
    assert " Checks that it does not pass: " in found.message
    assert "could not be combined" in found.message
    assert [each.remedies for each in found.refusals] == [("redact",)]


def test_hierarchies_merge_siblings_of_every_tree():
    places = tuple("abcd")
    nodes = [Node(0, "0", None, (1, 2, 3, 4))]
    nodes += [
        Node(i, str(i), 0, (), CategoryTest("place", (p,)), "no") for i, p in enumerate(places, 1)
    ]
    features = (replace(FEATURES[1], name="place", values=places),)
    tree = Tree(tuple(nodes), features, "flu", ("no", "yes"))
    model = forest(tree, features=features)
    table = table_of({"place": list("aabcccddd"), "flu": ["no", "yes"] * 4 + ["no"]})
    above = Categories(
        "place", {p: (p, g, "*") for p, g in zip(places, ("x", "x", "y", "y"), strict=True)}
    )
    found = repaired(model, table=table, given=RepairResources({"place": above})).recommended
    assert [len(tree.leaves) for tree in found.proposal.model.trees] == [3]
