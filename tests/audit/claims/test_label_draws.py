"""The distribution of the test is the one of all outputs, and its intervals end where their tails say."""

import numpy as np
import pytest

from tests.judges.drawn_labels import claim, draw, labelled_tree, outputs, people_in
from tests.kit.tiers import seeds
from treewarden.audit.claims import realised_loss as module
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.population.forest import forest_of


def label_test_of(leaves, labels, epsilon=1.0):
    people = people_in(leaves)
    found = judge_claim(
        forest_of(labelled_tree(leaves, labels, claim(epsilon)), people), people, ()
    )
    return found.test


def lost(leaves, labels):
    return sum(max(counts) - counts[label] for counts, label in zip(leaves, labels, strict=True))


@pytest.mark.parametrize("seed", seeds(15))
def test_p_values_are_sums_over_all_outputs(seed):
    random = np.random.default_rng(seed)
    leaves = random.integers(0, 5, (4, int(random.integers(2, 4)))).tolist()
    leaves[0][0] += 1
    epsilon = float(random.choice([0.05, 0.5, 2.0]))
    labels = draw(leaves, epsilon, random)
    test, seen = label_test_of(leaves, labels), lost(leaves, labels)
    of_all = [(lost(leaves, other), chance) for other, chance in outputs(leaves, epsilon)]
    expected = sum(chance for value, chance in of_all if value <= seen)
    assert test.p_value(epsilon) == pytest.approx(expected, abs=1e-12)
    expected = sum(chance for value, chance in of_all if value >= seen)
    assert test.p_value_of_noise(epsilon) == pytest.approx(expected, abs=1e-12)


def test_an_interval_ends_where_its_tails_are_as_they_should_be():
    random = np.random.default_rng(3)
    leaves = random.integers(0, 12, (60, 2)).tolist()
    test = label_test_of(leaves, draw(leaves, 0.4, random))
    low, high = test.interval(0.9)
    assert test.p_value(low) <= 0.05 < test.p_value(low * 1.001)
    assert test.p_value_of_noise(high) <= 0.05 < test.p_value_of_noise(high / 1.001)


def test_labels_that_never_miss_have_no_upper_end_and_refute_a_small_epsilon():
    leaves = [[3, 1]] * 40
    test = label_test_of(leaves, [0] * 40)
    low, high = test.interval(0.95)
    assert high == np.inf
    assert low > 0.5
    assert test.p_value(0.1) < 1e-6


def test_leaves_of_equal_classes_tell_nothing():
    test = label_test_of([[3, 3], [1, 1]], [0, 1])
    assert not test.is_of_use
    assert test.interval(0.95) == (0.0, np.inf)


def test_people_in_larger_units_still_give_the_exact_distribution(monkeypatch):
    leaves = [[9, 2], [7, 1], [5, 0]]
    monkeypatch.setattr(module, "MOST_STEPS", 60)
    test = label_test_of(leaves, [1, 0, 1])
    assert test.unit > 1
    of_all = [
        (sum((max(c) - c[r]) // test.unit for c, r in zip(leaves, labels, strict=True)), chance)
        for labels, chance in outputs(leaves, 0.3)
    ]
    expected = sum(chance for value, chance in of_all if value <= test.lost)
    assert test.p_value(0.3) == pytest.approx(expected, abs=1e-12)
