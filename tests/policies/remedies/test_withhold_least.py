"""The least to withhold of trees that vote: against all subsets of their leaves, and what is refused of others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tests.audit.joint.test_withheld_counts import OPTIONS, people_of
from tests.kit.small_audits import flat_tree
from tests.kit.small_audits import people_of as small_people_of
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.population.forest import forest_of
from treewarden.audit.run import run
from treewarden.audit.withholding_costs import EQUAL_COSTS, read_costs
from treewarden.policies.pack import read_pack
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.remedies._withholding import withhold_counts
from treewarden.policies.remedies.withhold_least import REMEDY, fewest_leaves
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, EnsembleGrowth, Member
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature

SECONDS = 20.0


def voting(seed, people=14):
    """Return two trees that vote and publish all class counts, and their people."""
    draw = np.random.default_rng(seed)
    labels, places = draw.integers(0, 2, people), draw.integers(0, 3, (2, people))
    members = []
    for number, place in enumerate(places):
        name, values = f"f{number}", tuple(map(str, sorted(set(place.tolist()))))
        inside = [labels[place == int(value)] for value in values]
        tree = flat_tree(
            [[int((of == k).sum()) for k in (0, 1)] for of in inside], classes=("a", "b")
        )
        leaves = (
            replace(node, test=CategoryTest(name, (value,)))
            for node, value in zip(tree.nodes[1:], values, strict=True)
        )
        nodes = (replace(tree.nodes[0], class_counts=None, score=None), *leaves)
        features = (Feature(name, False, values),)
        members.append(Member(replace(tree, nodes=nodes, features=features, target="ill")))
    features = tuple(feature for member in members for feature in member.model.features)
    model = Ensemble(tuple(members), Combination.MAJORITY_VOTE, features, "ill", ("a", "b"))
    return model, people_of(model, places, labels)[0]


def is_safe(model, people, withheld):
    """Return whether an audit shows that nobody is certain without the counts of some leaves."""
    changed = withhold_counts(forest_of(model, people), people.columns, withheld)
    knowledge = Knowledge(split=SplitLevel.NONE)
    worlds = run(changed, people, knowledge, options=OPTIONS).full.evidence.worlds
    return not (worlds.certain | worlds.open_profiles).any()


@pytest.mark.parametrize("seed", seeds(40, quick=(1, 3)))
def test_no_fewer_leaves_pass_the_audit_than_the_least(seed):
    model, people = voting(seed)
    found = fewest_leaves(forest_of(model, people), people, SECONDS)
    leaves = [(t, n.index) for t, m in enumerate(model.members) for n in m.model.leaves]
    if found.least.problem:
        assert not is_safe(model, people, None)
        return
    assert found.least.is_optimal
    assert is_safe(model, people, found.leaves)
    for fewer in itertools.combinations(leaves, max(len(found.leaves) - 1, 0)):
        assert not found.leaves or not is_safe(model, people, frozenset(fewer))


def test_a_voting_forest_predicts_the_same_and_is_written_without_the_counts():
    model, people = voting(3)
    found = list(REMEDY.propose_all(forest_of(model, people), people, proofs()))
    assert [type(each) for each in found] == [Proposal]
    assert "2 of 6 leaves" in found[0].title
    assert "no fewer suffice" in found[0].title
    again = load_model(converted(found[0].model, "pmml"), "fixed.pmml")
    assert sum(leaf.class_counts is None for tree in again.trees for leaf in tree.leaves) == 2
    assert (predict(again, people.columns) == predict(model, people.columns)).all()


def proofs():
    """Return a policy that limits how many people's values are proved."""
    return read_pack(shipped_packs()["standard"].read_bytes(), "standard")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"combination": Combination.AVERAGE},
            "predicts with the class shares of its leaves (average)",
        ),
        ({"combination": Combination.SELECT_FIRST}, "(select first)"),
        ({"growth": EnsembleGrowth("xgboost", "", 1, (), (), None)}, "round_leaves"),
    ],
)
def test_what_predicts_with_its_numbers_is_refused_with_a_next_step(changes, reason):
    model, people = voting(3)
    forest = replace(forest_of(model, people), model=replace(model, **changes))
    (found,) = REMEDY.propose_all(forest, people, proofs())
    assert isinstance(found, NoProposal)
    assert reason in found.reason
    assert "train" in found.reason


def test_the_bound_is_told_while_the_search_runs():
    model, people = voting(3)
    told = []
    fewest_leaves(forest_of(model, people), people, SECONDS, lambda *each: told.append(each))
    bounds = [done for done, total, what in told if what == "to withhold at least"]
    assert bounds == sorted(bounds)
    assert bounds[-1] == 2


def one_tree():
    """Return a tree whose first two of three leaves are of one class, and its people."""
    tree = flat_tree([[12, 0], [3, 0], [2, 3]])
    return tree, small_people_of(tree)


def only(remedy):
    tree, people = one_tree()
    (found,) = remedy.propose(tree, people, proofs())
    assert isinstance(found, Proposal)
    return found


def test_bands_stand_for_class_counts_where_they_cost_less_and_suffice():
    found = only(REMEDY.at_costs(read_costs("leaf=2,band=0.5"), same_everywhere=False))
    leaves = found.model.leaves
    assert [leaf.class_counts is None for leaf in leaves] == [True, True, False]
    assert [leaf.bands for leaf in leaves] == [
        ((10.0, 12.0), (0.0, 4.0)),
        ((0.0, 3.0), (0.0, 3.0)),
        None,
    ]
    assert found.withheld == ("class counts finer than 5",)
    assert "publish those of 2 of 3 leaves as ranges of 5" in found.title
    assert "nothing that costs less suffices" in found.title


def test_the_same_everywhere_leaves_no_pattern():
    plain = only(REMEDY)
    assert [leaf.class_counts is None for leaf in plain.model.leaves] == [True, True, False]
    assert "--same-everywhere" in plain.caution
    same = only(REMEDY.at_costs(EQUAL_COSTS, same_everywhere=True))
    assert same.caution == ""
    assert [leaf.class_counts for leaf in same.model.leaves] == [None] * 3
    banded = only(REMEDY.at_costs(read_costs("band=0.5"), same_everywhere=True))
    assert all(leaf.bands for leaf in banded.model.leaves)


def test_leaves_of_trees_that_vote_can_be_in_bands_too():
    model, people = voting(3)
    remedy = REMEDY.at_costs(read_costs("band=0.5"), same_everywhere=True)
    (found,) = remedy.propose_all(forest_of(model, people), people, proofs())
    leaves = [leaf for member in found.model.members for leaf in member.model.leaves]
    assert any(leaf.class_counts is None for leaf in leaves)
    assert (predict(found.model, people.columns) == predict(model, people.columns)).all()
