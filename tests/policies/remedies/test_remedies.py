"""What the remedies propose, and what they must not touch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.judges.pruning_by_hand import numeric
from tests.kit.rows import rows
from tests.kit.small_audits import (
    NO_TRUTH,
    audit_of,
    deep_tree,
    evidence_of,
    flat_tree,
    pack_of,
    people_of,
    read,
)
from treewarden.audit.measures import measures
from treewarden.audit.population.population import Population
from treewarden.policies.remedies import NoProposal, Proposal, remedies
from treewarden.policies.remedies._pruning import merging
from treewarden.policies.repair.attempts import cost_of
from treewarden.ppdm_models.errors import TaxonomyError
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.taxonomy import Categories
from treewarden.ppdm_models.tree.nodes import Impurity
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Missing,
    Quality,
    Task,
)

REMEDIES = remedies()
SURE = pack_of(("confidence", "at_most", 0.9))
SMALL = pack_of(("k_anonymity", "at_least", 5))
THREE = flat_tree([[14, 4, 2], [1, 8, 1], [6, 6, 6]])
TWO = flat_tree([[14, 6], [1, 8]])

LADDER = [
    ("class counts",),
    ("class counts", "error rates"),
    ("class counts", "error rates", "record counts"),
]

leaf = st.lists(st.integers(0, 9), min_size=2, max_size=2)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=12)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, ("a", "b")))
peopled = trees.filter(lambda tree: tree.root.records)


def proposed(name, tree, pack, people=None):
    return list(REMEDIES[name].propose(tree, people or people_of(tree), pack))


def people_of_numeric(tree):
    """Return the records that the leaves speak of, without their columns: who stops where is all that pruning reads."""
    rows = [leaf for leaf in tree.leaves if leaf.records]
    truth = np.array([leaf.class_counts for leaf in rows])
    return Population((), {}, truth.sum(axis=1), np.array([x.index for x in rows]), truth)


def told(tree):
    return [node.class_counts for node in tree.leaves]


def everywhere(tree, pack=SURE, people=None):
    """Return what is proposed for all leaves alike, by what it withholds."""
    found = proposed("redact", tree, pack, people)
    return {
        proposal.withheld: proposal.model
        for proposal in found
        if " in " not in str(proposal.withheld)
    }


def bands(tree):
    return [node.bands for node in tree.leaves]


def test_class_counts_go_first_and_error_rates_after_them():
    steps = everywhere(THREE, pack_of(("confidence", "at_most", 0.75)))
    first, second = steps["class counts",], steps["class counts", "error rates"]
    assert list(steps).index(("class counts",)) < list(steps).index(("class counts", "error rates"))
    assert told(first) == [(14, None, None), (None, 8, None), (6, None, None)]
    assert told(second) == [None, None, None]


def test_record_counts_go_last_and_leave_labels_only():
    steps = everywhere(THREE)
    assert [step for step in steps if "finer" not in str(step)] == LADDER
    bare = steps[LADDER[-1]]
    assert all(
        (n.records, n.class_counts, n.class_shares, n.bands) == (None,) * 4 for n in bare.nodes
    )
    assert {leaf.score for leaf in bare.leaves} == {"c0", "c1"}


@rows("measure", measures())
def test_no_reading_tells_record_counts_from_labels_only(measure):
    people, steps = people_of(THREE), everywhere(THREE)
    before, after = (read(measure, evidence_of(steps[step], people)).reading for step in LADDER[1:])
    assert before == after


@given(peopled)
def test_labels_only_costs_more_than_what_keeps_record_counts(tree):
    people = people_of(tree)
    *milder, last = [cost_of(tree, people, each) for each in proposed("redact", tree, SURE)]
    assert all(each.rank < last.rank for each in milder)


def test_of_a_tree_of_labels_and_record_counts_only_these_are_left_to_withhold():
    bare = everywhere(THREE)[LADDER[1]]
    (only,) = proposed("redact", bare, SURE, people_of(THREE))
    assert only.withheld == ("record counts",)
    assert only.title.startswith(
        "withhold the record counts: labels only; record counts are audited as known"
    )


def test_milder_than_withholding_are_bands():
    first, *_ = everywhere(THREE).values()
    assert told(first) == [None, None, None]
    assert bands(first)[0] == ((10, 14), (0, 4), (0, 4))
    assert bands(first)[2] == ((5, 9), (5, 9), (5, 9))


def test_a_band_never_goes_beyond_the_records():
    first, *_ = everywhere(flat_tree([[2, 0, 1], [9, 3, 3]])).values()
    assert bands(first)[0] == ((0, 3), (0, 3), (0, 3))


@given(st.lists(st.integers(0, 60), min_size=2, max_size=4).filter(any))
def test_each_band_holds_the_count_and_is_the_same_for_all_counts_in_it(counts):
    for proposal in proposed("redact", flat_tree([counts, [1] * len(counts)]), SURE):
        for count, band in zip(counts, proposal.model.nodes[1].bands or (), strict=False):
            if band is not None:
                assert band[0] <= count <= band[1]
                assert band[0] % 5 == 0
                assert band[1] == sum(counts) or band[1] - band[0] in (4, 9)


def test_only_the_leaves_that_need_it_give_less_each_by_its_own_numbers():
    tree = flat_tree([[19, 1, 0], [4, 3, 3], [9, 0, 0]])
    some = proposed("redact", tree, pack_of(("confidence", "at_most", 0.8)))[0]
    assert told(some.model)[1] == (4, 3, 3)
    assert [leaf.bands is None for leaf in some.model.leaves] == [False, True, False]
    assert some.model.root.class_counts is None
    assert some.withheld == ("class counts finer than 5 in 2 of 3 leaves",)


def test_where_all_leaves_need_it_alike_there_is_no_proposal_for_some():
    found = proposed(
        "redact", flat_tree([[9, 0, 0], [0, 9, 0]]), pack_of(("confidence", "at_most", 0.6))
    )
    assert not any(" in " in kind for proposal in found for kind in proposal.withheld)


@pytest.mark.parametrize("quality", [Quality.WEIGHTED, Quality.NORMALISED])
def test_numbers_that_do_not_count_people_are_not_banded(quality):
    for proposal in proposed("redact", replace(THREE, quality=quality), SURE, people_of(THREE)):
        assert bands(proposal.model) == [None, None, None]


def test_numbers_go_at_inner_nodes_too_as_a_parent_gives_away_its_children():
    for proposal in proposed("redact", THREE, SURE):
        assert proposal.model.root.class_counts is None


@pytest.mark.parametrize("tree", [TWO, THREE])
def test_labels_and_records_stay_so_that_every_prediction_does(tree):
    *milder, last = proposed("redact", tree, SURE)
    assert [leaf.score for leaf in last.model.leaves] == [leaf.score for leaf in tree.leaves]
    for proposal in milder:
        kept = [(leaf.score, leaf.records) for leaf in proposal.model.leaves]
        assert kept == [(leaf.score, leaf.records) for leaf in tree.leaves]
        assert proposal.model.root.records == tree.root.records
        assert proposal.node_map == tuple(range(len(tree.nodes)))


def test_a_label_of_an_inner_node_goes_unless_somebody_can_stop_there():
    stay = replace(THREE, missing=Missing.LAST_PREDICTION)
    assert {p.model.root.score for p in proposed("redact", THREE, SURE)} == {None}
    assert {p.model.root.score for p in proposed("redact", stay, SURE)} == {THREE.root.score}


def test_impurities_go_with_the_counts_that_they_tell():
    nodes = tuple(replace(n, impurity=Impurity(Criterion.GINI, 0.4, 0.41)) for n in THREE.nodes)
    for proposal in proposed("redact", replace(THREE, nodes=nodes), SURE):
        assert [n for n in proposal.model.nodes if n.impurity and not n.class_counts] == []


def test_of_a_tree_of_labels_those_of_inner_nodes_are_left_to_withhold():
    bare = replace(
        THREE, nodes=tuple(replace(n, class_counts=None, records=None) for n in THREE.nodes)
    )
    assert [p.withheld for p in proposed("redact", bare, SURE, people_of(THREE))] == [
        ("labels of inner nodes",)
    ]


def test_what_no_audit_uses_goes_with_the_numbers():
    (*_, last) = proposed("redact", replace(THREE, unused=("gains",)), SURE)
    assert last.model.unused == ()


def test_with_two_classes_the_rate_is_the_whole_distribution_so_only_one_step_is_left():
    steps = [step for step in everywhere(TWO) if "finer" not in str(step)]
    assert steps == LADDER[1:]


def test_a_label_that_only_the_counts_gave_is_said_outright_before_they_go():
    tree = replace(THREE, nodes=tuple(replace(node, score=None) for node in THREE.nodes))
    for proposal in proposed("redact", tree, SURE):
        assert [node.score for node in proposal.model.leaves] == ["c0", "c1", "c0"]


def test_shares_are_withheld_too():
    nodes = tuple(
        replace(n, class_counts=None, class_shares=tuple(c / n.records for c in n.class_counts))
        for n in THREE.nodes
    )
    only = proposed("redact", replace(THREE, nodes=nodes), SURE, people_of(THREE))
    assert [proposal.withheld for proposal in only] == LADDER[1:]
    assert all(node.class_shares is None for node in only[0].model.nodes)


def test_a_tree_of_labels_has_nothing_left_to_withhold():
    bare = proposed("redact", THREE, SURE)[-1].model
    assert proposed("redact", bare, SURE, people_of(THREE)) == []


def test_withholding_is_no_remedy_for_clauses_about_leaves():
    assert proposed("redact", THREE, SMALL) == []


@pytest.mark.parametrize(
    "measure", [name for name, measure in measures().items() if measure.is_of_leaves]
)
def test_withholding_changes_no_reading_of_the_leaves(measure):
    before = read(measure, evidence_of(THREE)).reading
    for proposal in proposed("redact", THREE, SURE):
        assert read(measure, evidence_of(proposal.model, people_of(THREE))).reading == before


def test_withholding_the_rates_lowers_certainty_but_leaves_the_share_guessed_right_open():
    people, labels = people_of(THREE), proposed("redact", THREE, SURE)[-1].model
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
    assert nothing.reason.endswith(f"check '0-distinct_diversity': {NO_TRUTH.reason}")


def test_without_the_truth_pruning_can_still_meet_a_size():
    tree = deep_tree([[[1, 2], [4, 4]], [9, 9]], ("a", "b"))
    people = replace(people_of(tree), truth=NO_TRUTH)
    (proposal,) = proposed("prune_apt", tree, SMALL, people)
    assert [leaf.records for leaf in proposal.model.leaves] == [11, 18]
    assert [leaf.score for leaf in proposal.model.leaves] == ["b", "a"]


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
    assert [leaf.name for leaf in proposal.model.leaves] == ["n1", "n4"]


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
        moved = replace(people, leaf=route(found.model, people.columns))
        assert moved.leaf.tolist() == [found.node_map[index] for index in people.leaf]
        taken = audit_of(evidence_of(found.model, moved), pack).full.readings
        readings = {c.measure: m.reading for c, m in taken.items()}
        assert readings["k_anonymity"].low >= k
        assert readings["label_disclosure"].high <= share
        assert readings["cl_diversity"].high < 50


@given(peopled)
def test_what_merging_could_make_is_held_against_the_whole_table(tree):
    people = people_of(tree)
    found = merging(tree, people, {})
    for _, leaves in (found.own, found.merged):
        assert leaves.whole.tolist() == people.truth.sum(axis=0).tolist()


def test_the_bands_can_be_as_wide_as_one_likes():
    found = type(REMEDIES["redact"])((20,)).propose(THREE, people_of(THREE), SURE)
    assert ((0, 19), (0, 19), (0, 19)) in {p.model.nodes[1].bands for p in found}


def test_a_band_of_one_number_is_refused():
    with pytest.raises(ValueError, match="hides nothing"):
        type(REMEDIES["redact"])((1,))


NUMBERED = numeric(deep_tree([[[7, 0], [1, 0], [0, 6]], [4, 4]], ("a", "b")))


def test_optimal_pruning_is_proposed_where_it_keeps_more_than_apt():
    pack = pack_of(("k_anonymity", "at_least", 2))
    people = people_of_numeric(NUMBERED)
    (greedy,) = proposed("prune_apt", NUMBERED, pack, people)
    best, *_ = proposed("prune_optimal", NUMBERED, pack, people)
    assert [leaf.class_counts for leaf in greedy.model.leaves] == [(7, 0), (1, 6), (4, 4)]
    assert [leaf.class_counts for leaf in best.model.leaves] == [(8, 0), (0, 6), (4, 4)]
    assert best.title == "1 group of siblings becomes a leaf, so 3 of 4 leaves remain"


def test_optimal_pruning_proposes_nothing_where_apt_does_as_well():
    tree = deep_tree([[[1, 2], [4, 4]], [9, 9]], ("a", "b"))
    assert proposed("prune_optimal", tree, SMALL) == []


def test_without_the_truth_optimal_pruning_keeps_predictions():
    people = replace(people_of_numeric(NUMBERED), truth=NO_TRUTH)
    (best,) = proposed("prune_optimal", NUMBERED, pack_of(("k_anonymity", "at_least", 2)), people)
    assert [leaf.records for leaf in best.model.leaves] == [8, 6, 8]


@pytest.mark.parametrize("name", ["prune_apt", "prune_optimal"])
def test_a_k_larger_than_the_table_leaves_no_tree(name):
    (nothing,) = proposed(name, THREE, pack_of(("k_anonymity", "at_least", 10_000)))
    assert isinstance(nothing, NoProposal)


def test_siblings_merge_by_the_hierarchies_that_a_remedy_is_given():
    tree = flat_tree([[3, 1], [2, 1], [9, 9]])
    paths = {"p0": ("p0", "near", "*"), "p1": ("p1", "near", "*"), "p2": ("p2", "far", "*")}
    remedy = REMEDIES["prune_apt"].using({"place": Categories("place", paths)})
    (proposal,) = remedy.propose(tree, people_of(tree), SMALL)
    assert [leaf.records for leaf in proposal.model.leaves] == [7, 18]
    assert proposal.node_map == (0, 1, 1, 2)
    moved = replace(people_of(tree), leaf=route(proposal.model, people_of(tree).columns))
    assert moved.leaf.tolist() == [1, 1, 2]


def test_a_hierarchy_that_lacks_a_value_of_the_tree_is_an_error():
    paths = {"p0": ("p0", "*"), "p1": ("p1", "*")}
    remedy = REMEDIES["prune_apt"].using({"place": Categories("place", paths, "place.csv")})
    with pytest.raises(TaxonomyError, match="place.csv: 'place': lacks the value 'p2'; add it"):
        list(remedy.propose(THREE, people_of(THREE), SMALL))


@pytest.mark.parametrize("name", ["prune_apt", "prune_optimal"])
def test_a_tree_that_predicts_numbers_is_pruned_by_size(name):
    nodes = [replace(n, score=float(n.index), class_counts=None) for n in NUMBERED.nodes]
    tree = replace(NUMBERED, nodes=tuple(nodes), classes=(), task=Task.REGRESSION)
    people = replace(people_of_numeric(NUMBERED), truth=NO_TRUTH)
    for proposal in proposed(name, tree, pack_of(("k_anonymity", "at_least", 2)), people):
        assert min(leaf.records for leaf in proposal.model.leaves) >= 2


def test_a_tree_that_tells_nothing_withholds_nothing():
    bare = everywhere(THREE)["class counts", "error rates"]
    same = Proposal((), "as it is", bare, (), tuple(range(len(bare.nodes))))
    assert cost_of(bare, people_of(THREE), same).numbers_withheld == 0
