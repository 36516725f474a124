"""Realised losses equal those of every output and every neighbour; none is above a true epsilon."""

import math

import numpy as np
import pytest

from tests.judges.drawn_labels import (
    claim,
    exponential,
    flips,
    labelled_tree,
    neighbours,
    outputs,
    people_in,
)
from tests.kit.tiers import seeds
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.population.forest import forest_of

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
    from dataclasses import replace

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


def test_private_splits_leave_their_part_open():
    words = "mechanism=permute-and-flip-monotonic, splits=private, label_epsilon=0.5, bounds=public"
    loss = findings([[7, 5]], [1], claim(0.8, words)).loss
    assert (loss.low, loss.high) == pytest.approx((0.2, 0.8))
