"""Realised losses equal those of every output and every neighbour; none is above a true epsilon."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.judges.drawn_labels import (
    claim,
    exponential,
    flips,
    forest_outputs,
    labelled_forest,
    labelled_tree,
    neighbours,
    outputs,
    people_in,
)
from tests.kit.tiers import seeds
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import with_claim
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Learner, Node, Quality, Tree

EXPONENTIAL = "mechanism=exponential-monotonic, splits=independent, bounds=public"


def findings(leaves, labels, said):
    people = people_in(leaves)
    return judge_claim(forest_of(labelled_tree(leaves, labels, said), people), people, ())


def losses(leaves, labels, said):
    """Return the loss of a person of each leaf with people and each class."""
    held = [leaf for leaf, counts in enumerate(leaves) if sum(counts)]
    found = np.abs(findings(leaves, labels, said).loss.of_cell)
    return {
        (leaf, c): found[row, c] for row, leaf in enumerate(held) for c in range(len(leaves[0]))
    }


@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize(("drawn", "words"), [(flips, None), (exponential, EXPONENTIAL)])
def test_losses_are_those_of_all_outputs_and_all_neighbours(seed, drawn, words):
    random = np.random.default_rng(seed)
    classes = int(random.integers(2, 4))
    leaves = random.integers(0, 6, (3, classes)).tolist()
    leaves[0][0] += 1
    epsilon = float(random.choice([0.01, 0.5, 1.0, 3.0]))
    said = claim(epsilon) if words is None else claim(epsilon, words)
    for labels, chance in outputs(leaves, epsilon, drawn):
        found = losses(leaves, labels, said)
        for person, without in neighbours(leaves):
            other = dict(outputs(without, epsilon, drawn))[labels]
            assert found[person] == pytest.approx(abs(math.log(chance / other)), abs=1e-12)
            assert found[person] <= epsilon + 1e-12


def test_the_case_by_hand():
    worse = losses([[7, 5]], [1], claim(0.5))
    assert worse[0, 0] == pytest.approx(0.5, abs=1e-12)
    better = losses([[7, 5]], [0], claim(0.5))
    assert round(better[0, 0], 4) == 0.1581
    assert round(better[0, 1], 4) == 0.0850


def test_several_trees_that_all_saw_everybody_add_up_and_refute_the_claim_of_one():
    from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member

    leaves = [[7, 5], [3, 4]]
    words = "mechanism=permute-and-flip-monotonic, splits=independent, trees=all, label_epsilon=0.5"
    tree = labelled_tree(leaves, [1, 0], claim(0.5, words))
    forest = Ensemble(
        tuple(Member(tree) for _ in range(3)),
        Combination.AVERAGE,
        tree.features,
        tree.target,
        tree.classes,
    )
    people = people_in(leaves)
    found = judge_claim(forest_of(forest, people), people, ())
    assert found.loss.largest == pytest.approx(1.5, abs=1e-12)
    assert found.is_refuted_by_loss
    one = replace(forest, members=forest.members[:1])
    assert not judge_claim(forest_of(one, people), people, ()).is_refuted_by_loss
    parts = claim(0.5, words.replace("trees=all", "trees=parts"))
    split = replace(forest, members=(Member(labelled_tree(leaves, [1, 0], parts)),) * 3)
    unknown = judge_claim(forest_of(split, people), people, ())
    assert "which records each tree was trained on" in unknown.doubts[0]


FOREST = "mechanism=permute-and-flip-monotonic, splits=independent, trees=all, bounds=public"


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", seeds(10))
def test_losses_of_a_forest_are_those_of_all_outputs_and_all_neighbours(seed, classes):
    """Two trees that part the same people differently, each with half of epsilon."""
    random = np.random.default_rng(seed)
    places = random.integers(1, 4, (3, classes)).tolist()
    groups, epsilon = [(0, 1, 1), (0, 0, 1)], float(random.choice([0.1, 1.0, 3.0]))
    said = claim(epsilon, f"{FOREST}, label_epsilon={epsilon / 2!r}")
    people = people_in(places)
    without = [
        (person, dict(forest_outputs(other, groups, epsilon / 2)))
        for person, other in neighbours(places)
    ]
    of_all = list(forest_outputs(places, groups, epsilon / 2))
    assert sum(chance for _, chance in of_all) == pytest.approx(1, abs=1e-12)
    for labels, chance in of_all:
        forest = labelled_forest(places, groups, labels, said)
        found = judge_claim(forest_of(forest, people), people, ())
        assert not found.doubts
        assert not found.is_refuted_by_loss
        for (place, code), others in without:
            loss = abs(found.loss.of_cell[place, code])
            assert loss == pytest.approx(abs(math.log(chance / others[labels])), abs=1e-12)
            assert loss <= epsilon + 1e-12


def numeric_tree(cuts, labels, said):
    """Return a chain of tests age <= cut, of which the leaves from the lowest ages on have these labels."""
    nodes = [Node(0, "0", None, (1, 2), score=None)]
    for number, cut in enumerate(cuts):
        at, is_last = 2 * number, number == len(cuts) - 1
        below = NumericTest("age", high=float(cut), high_closed=True)
        above = NumericTest("age", low=float(cut))
        nodes.append(Node(at + 1, str(at + 1), at, (), below, f"c{labels[number]}"))
        children = () if is_last else (at + 3, at + 4)
        score = f"c{labels[-1]}" if is_last else None
        nodes.append(Node(at + 2, str(at + 2), at, children, above, score))
    features = (Feature("age", True),)
    learner = Learner(all_features=False, multiway=False)
    classes = ("c0", "c1", "c2")
    tree = Tree(tuple(nodes), features, "illness", classes, learner=learner, quality=Quality.ABSENT)
    return with_claim(tree, said)


@pytest.mark.parametrize("seed", seeds(10, quick=(0, 1)))
def test_losses_of_clipped_records_and_beside_empty_leaves_are_those_of_all_outputs(seed):
    """Of four leaves two lie beyond the bounds: nobody is in them, and whoever is there counts at the bound."""
    random = np.random.default_rng(seed)
    cuts, epsilon = (20, 50, 80), float(random.choice([0.2, 1.0, 3.0]))
    ages = random.choice([10.0, 25.0, 60.0, 70.0, 95.0], size=8)
    codes = random.integers(0, 3, size=8)
    inside = np.clip(ages, 22, 75)
    leaves = [[0, 0, 0] for _ in range(4)]
    for leaf, code in zip(np.searchsorted(cuts, inside, side="left"), codes, strict=True):
        leaves[leaf][code] += 1
    assert sum(leaves[0]) == sum(leaves[3]) == 0
    values = np.unique(ages)
    truth = np.array([[((ages == v) & (codes == c)).sum() for c in range(3)] for v in values])
    said = replace(claim(epsilon), bounds=(("age", 22.0, 75.0),))
    without = [(person, dict(outputs(other, epsilon))) for person, other in neighbours(leaves)]
    for labels, chance in outputs(leaves, epsilon):
        tree = numeric_tree(cuts, labels, said)
        column = {"age": NumericColumn(values)}
        people = Population(
            ("age",), column, truth.sum(axis=1).astype(float), route(tree, column), truth * 1.0
        )
        found = judge_claim(forest_of(tree, people), people, ())
        assert not found.doubts
        for (leaf, code), others in without:
            here = np.searchsorted(cuts, np.clip(values, 22, 75), side="left") == leaf
            (loss,) = set(np.abs(found.loss.of_cell[here & (truth[:, code] > 0), code]).tolist())
            assert loss == pytest.approx(abs(math.log(chance / others[labels])), abs=1e-12)
            assert loss <= epsilon + 1e-12


def test_private_splits_leave_their_part_open():
    words = "mechanism=permute-and-flip-monotonic, splits=private, label_epsilon=0.5, bounds=public"
    loss = findings([[7, 5]], [1], claim(0.8, words)).loss
    assert (loss.low, loss.high) == pytest.approx((0.2, 0.8))
