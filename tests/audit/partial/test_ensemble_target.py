"""What several trees prove together to an adversary who knows some columns, on people that are counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from treewarden.audit.adversaries import with_adversaries
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.knowledge.statement import KnownRecord
from treewarden.audit.partial.ensembles.ensemble_target import (
    IN_ALL_TREES,
    NOT_JOINT,
    infer_ensemble_target,
)
from treewarden.audit.partial.ensembles.ensemble_view import (
    DRAWS_KNOWN,
    LACKING,
    MIXED,
    OTHER_PARTS,
    ensemble_view,
)
from treewarden.audit.partial.ensembles.hidden_places import hidden_places
from treewarden.audit.partial.ensembles.release_inference import model_view
from treewarden.audit.partial.secret_values import AdversaryRequest
from treewarden.audit.partial.unmodelled_knowledge import FACTS_NOT_USED
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import FOREVER
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    NonTreeModel,
    TreeSampling,
)
from treewarden.ppdm_models.tree.predicate import AllOf, AnyOf, CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Missing, Node, Quality, Task, Tree

FEATURES = (Feature("x", numeric=False), Feature("h", numeric=False))
X1H0 = AllOf((CategoryTest("x", ("x1",)), CategoryTest("h", ("h0",))))
REST = AnyOf((CategoryTest("x", ("x0",)), CategoryTest("h", ("h1",))))


def tree_of(leaves, **changes):
    """Return a tree of one level, given the test and the people of each class, or the number, of each leaf."""
    nodes, total = [], np.zeros(2)
    for index, (test, said) in enumerate(leaves, 1):
        if isinstance(said, float):
            nodes.append(Node(index, str(index), 0, (), test, score=said))
            continue
        total += said
        label = "ab"[int(np.argmax(said))]
        nodes.append(Node(index, str(index), 0, (), test, label, float(sum(said)), said))
    children = tuple(range(1, len(leaves) + 1))
    if not total.any():
        root = Node(0, "0", None, children, score=0.0)
        return Tree((root, *nodes), FEATURES, "", (), task=Task.REGRESSION, source="m")
    root = Node(0, "0", None, children, score="a", records=total.sum(), class_counts=tuple(total))
    kept = {"quality": Quality.EXACT, "source": "m"} | changes
    return Tree((root, *nodes), FEATURES, "class", ("a", "b"), **kept)


def nested(counts):
    """Return a tree that parts x1 by h, and leaves x0 with those of h1: of one column a test."""
    one, two, rest = counts
    nodes = (
        Node(0, "0", None, (1, 2), score="a"),
        Node(1, "1", 0, (), CategoryTest("x", ("x0",)), "a", float(sum(rest)), rest),
        Node(2, "2", 0, (3, 4), CategoryTest("x", ("x1",)), "a"),
        Node(3, "3", 2, (), CategoryTest("h", ("h0",)), "a", float(sum(one)), one),
        Node(4, "4", 2, (), CategoryTest("h", ("h1",)), "a", float(sum(two)), two),
    )
    return Tree(nodes, FEATURES, "class", ("a", "b"), quality=Quality.EXACT, source="m")


def by_h(zero, one):
    return tree_of([(CategoryTest("h", ("h0",)), zero), (CategoryTest("h", ("h1",)), one)])


def model_of(*trees, how=Combination.MAJORITY_VOTE, resampled=False, more=()):
    output = 1 if how is Combination.SUM else None
    return Ensemble(
        members=(*(Member(tree, output=output) for tree in trees), *map(Member, more)),
        combination=how,
        features=FEATURES,
        target="class",
        classes=("a", "b"),
        sampling=TreeSampling(resampled),
        source="m",
    )


def people_of(model, x, h, klass):
    table = table_of({"x": list(x), "h": list(h), "class": list(klass)})
    return build_population(model, table, sensitive="class")


def learnt(model, people, knowledge=None, **how):
    about = forest_of(model, people), people, knowledge or Knowledge(), ("x",)
    return infer_ensemble_target(model_view(*about, **how), FOREVER)


def crossing(**changes):
    """Return a forest whose two trees prove together, and neither alone, that x0 is of class b; and its people."""
    mixed = tree_of([(X1H0, (1.0, 0.0)), (REST, (1.0, 1.0))])
    model = model_of(by_h((1.0, 1.0), (1.0, 0.0)), mixed, **changes)
    return model, people_of(model, ("x0", "x1", "x1"), ("h0", "h0", "h1"), "baa")


def test_two_trees_prove_together_what_neither_does():
    model, people = crossing()
    view = ensemble_view(forest_of(model, people), people, Knowledge(), ("x",))
    found = hidden_places(view)
    assert found is not None
    # x0 can be at h0 with either class or at h1 with a, in R of the other tree; x1 at (h0, its own leaf) or (h1, R).
    assert (found.class_of >= 0).sum(axis=1).tolist() == [3, 2]
    assert found.truth.sum(axis=1).tolist() == [1, 2]
    for tree in model.trees:
        alone = learnt(replace(model, members=(Member(tree),)), people)
        assert not alone.worlds.certain.any()
    # The mixed test keeps tables from being shown; what is proved stands.
    seen = learnt(model, people)
    assert seen.doubts == (MIXED,)
    assert seen.worlds.certain_class.tolist() == [1, 0]
    assert set(seen.worlds.reasons.values()) == {IN_ALL_TREES}


def test_people_who_can_take_each_others_place_are_not_certain_whatever_the_leaves_say():
    score = [(CategoryTest("h", ("h0",)), 0.25), (CategoryTest("h", ("h1",)), -0.5)]
    model = model_of(tree_of(score), tree_of(score[::-1]), how=Combination.SUM)
    people = people_of(model, ("x0", "x0", "x1", "x1"), ("h0", "h1", "h0", "h1"), "abaa")
    seen = learnt(model, people)
    assert not seen.worlds.open_profiles.any()
    assert not seen.worlds.certain.any()
    assert not seen.worlds.open_exclusions.any()
    assert seen.posterior == Undetermined(f"no inference: {NOT_JOINT}")


def test_the_estimate_departs_from_how_common_hidden_values_are():
    # Of four people three have h0. One leaf of each tree says nothing, so x says nothing of the class.
    model = model_of(by_h((1.0, 2.0), (1.0, 0.0)), by_h((1.0, 2.0), (1.0, 0.0)))
    people = people_of(model, ("x0", "x0", "x1", "x1"), ("h0", "h0", "h0", "h1"), "abba")
    seen = learnt(model, people)
    assert np.allclose(seen.posterior.values, 0.5, atol=1e-6)
    assert seen.gap < 1e-6
    parted = nested(((0.0, 1.0), (1.0, 0.0), (1.0, 1.0)))
    seen = learnt(model_of(by_h((1.0, 2.0), (1.0, 0.0)), parted), people)
    # x0 has one of each class in a leaf of its own, and of x1 each leaf holds one class.
    assert np.allclose(seen.posterior.values, 0.5, atol=1e-6)


def fact_of(**record):
    """Return that somebody with these values has class a."""
    said = {"record": record, "class": "a"}
    return Knowledge(facts=(KnownRecord.model_validate(said),))


def test_a_fact_about_known_columns_is_a_row_of_proofs_tables_and_estimate():
    model = model_of(by_h((1.0, 1.0), (1.0, 1.0)), by_h((1.0, 1.0), (1.0, 1.0)))
    people = people_of(model, ("x0", "x1", "x1", "x1"), ("h0", "h0", "h1", "h1"), "abab")
    without, seen = learnt(model, people), learnt(model, people, fact_of(x="x0"))
    assert not without.worlds.certain.any()
    assert (seen.doubts, seen.worlds.certain_class.tolist()) == ((), [0, -1])
    assert not seen.worlds.open_profiles.any()
    assert np.allclose(seen.posterior.values, [[1.0, 0.0], [1 / 3, 2 / 3]], atol=1e-6)
    assert np.allclose(seen.prior.values, [[1.0, 0.0], [0.5, 0.5]], atol=1e-6)


def test_people_whom_a_fact_is_about_keep_their_value_where_places_are_not_listed():
    score = [(CategoryTest("h", ("h0",)), 0.25), (CategoryTest("h", ("h1",)), -0.5)]
    model = model_of(tree_of(score), tree_of(score[::-1]), how=Combination.SUM)
    people = people_of(model, ("x0", "x1", "x1", "x1"), ("h0", "h1", "h0", "h1"), "abab")
    assert not learnt(model, people).worlds.open_profiles.any()
    seen = learnt(model, people, fact_of(x="x0"))
    assert seen.doubts == ()
    # Nothing proves that x0 has class a but the fact, which these proofs do not use; no table shows it otherwise.
    assert seen.worlds.open_profiles.tolist() == [True, False]
    assert seen.worlds.reached_low[0].tolist() == [1, 0]


@pytest.mark.parametrize("is_sure", [True, False])
def test_a_single_tree_is_joined_with_facts_about_known_columns(is_sure):
    tree = by_h((1.0, 1.0), (1.0, 1.0))
    people = people_of(tree, ("x0", "x1", "x1", "x1"), ("h0", "h0", "h1", "h1"), "abab")
    known = fact_of(**({"x": "x0"} if is_sure else {"h": "h0"}))
    # Facts are not used beside the choice of splits on known columns, which may prove more.
    knowledge = known.model_copy(update={"split": SplitLevel.NONE})
    audit = run(tree, people, knowledge)
    request = AdversaryRequest((Adversary("some", ("x",)),))
    about = audit, tree, people, audit.full.evidence.knowledge, request, ()
    evidence = with_adversaries(*about).adversaries[-1].evidence
    assert evidence.worlds.certain.tolist() == [is_sure, False]
    assert evidence.worlds.open_profiles.any() is not is_sure
    assert isinstance(evidence.posterior, Undetermined) is not is_sure


@pytest.mark.parametrize(
    ("said", "how"),
    [
        (DRAWS_KNOWN, {"are_draws_known": True}),
        (FACTS_NOT_USED, {"knowledge": "fact"}),
        (OTHER_PARTS, {"more": (NonTreeModel("regression"),)}),
    ],
)
def test_what_is_not_worked_out_leaves_open_who_is_certain(said, how):
    model = model_of(by_h((1.0, 1.0), (1.0, 1.0)), more=how.pop("more", ()))
    people = people_of(model, ("x0", "x1", "x0", "x1"), ("h0", "h0", "h1", "h1"), "abab")
    if how.pop("knowledge", ""):
        how["knowledge"] = fact_of(h="h0")
    assert not learnt(model_of(by_h((1.0, 1.0), (1.0, 1.0))), people).worlds.open_profiles.any()
    seen = learnt(model, people, **how)
    assert seen.doubts == (said,)
    assert seen.worlds.open_profiles.all()
    assert seen.posterior == Undetermined(f"no inference: {said}")


def test_people_who_lack_a_value_are_left_open_where_that_has_rules_of_its_own():
    tree = by_h((1.0, 1.0), (1.0, 1.0))
    model = model_of(replace(tree, missing=Missing.LAST_PREDICTION))
    people = people_of(model, ("x0", "x1", "", "x1"), ("h0", "h0", "h1", "h1"), "abab")
    assert learnt(model, people).doubts == ()  # no tree asks about x
    x = tree_of([(CategoryTest("x", (each,)), 0.5) for each in ("x0", "x1")])
    model = model_of(replace(x, missing=Missing.LAST_PREDICTION), how=Combination.SUM)
    view = ensemble_view(forest_of(model, people), people, Knowledge(), ("x",))
    assert view.place_doubt == LACKING
