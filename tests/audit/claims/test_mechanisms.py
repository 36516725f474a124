"""Probabilities of drawn labels equal those of the mechanism walked through by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judges.drawn_labels import exponential, flips
from tests.kit.tiers import examples
from treewarden.audit.claims.leaf_labels import log_probabilities
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism as Mechanism

DRAWN = {
    Mechanism.PERMUTE_AND_FLIP_MONOTONIC: lambda counts, epsilon: flips(counts, epsilon),
    Mechanism.PERMUTE_AND_FLIP: lambda counts, epsilon: flips(counts, epsilon, halved=True),
    Mechanism.EXPONENTIAL_MONOTONIC: lambda counts, epsilon: exponential(counts, epsilon),
    Mechanism.EXPONENTIAL: lambda counts, epsilon: exponential(counts, epsilon, halved=True),
}
counts_of_leaf = st.lists(st.integers(0, 30), min_size=1, max_size=5)


def chances(counts, epsilon, mechanism):
    return np.exp(log_probabilities(np.array([counts], dtype=float), epsilon, mechanism))[0]


@pytest.mark.parametrize("mechanism", DRAWN)
@given(counts=counts_of_leaf, epsilon=st.floats(0.001, 5))
@settings(max_examples=examples(60))
def test_probabilities_are_those_of_every_order_and_coin(mechanism, counts, epsilon):
    found = chances(counts, epsilon, mechanism)
    assert found == pytest.approx(DRAWN[mechanism](counts, epsilon), rel=1e-12, abs=1e-300)
    assert found.sum() == pytest.approx(1, abs=1e-12)


def test_two_classes_have_the_closed_form():
    worse = chances([7, 5], 0.5, Mechanism.PERMUTE_AND_FLIP_MONOTONIC)[1]
    assert worse == pytest.approx(math.exp(-1) / 2, rel=1e-14)
    assert round(worse, 4) == 0.1839


def test_an_empty_leaf_is_labelled_evenly():
    for mechanism in DRAWN:
        assert chances([0, 0, 0], 2.0, mechanism) == pytest.approx([1 / 3] * 3, abs=1e-15)


def test_a_gap_of_thousands_has_a_finite_logarithm():
    found = log_probabilities(np.array([[5000.0, 0.0]]), 1.0, Mechanism.PERMUTE_AND_FLIP_MONOTONIC)
    assert found[0] == pytest.approx([0.0, -5000 + math.log(0.5)])


def test_many_classes_stay_exact():
    counts = np.zeros((1, 120))
    for mechanism in DRAWN:
        found = np.exp(log_probabilities(counts, 1.0, mechanism))
        assert found == pytest.approx(np.full((1, 120), 1 / 120), rel=1e-12)


def test_no_probability_is_made_up_for_an_unknown_mechanism():
    with pytest.raises(ValueError, match="not known"):
        log_probabilities(np.ones((1, 2)), 1.0, Mechanism.UNKNOWN)


@given(counts=counts_of_leaf, low=st.floats(0.001, 5), more=st.floats(1.001, 3))
@settings(max_examples=examples(100))
def test_a_larger_epsilon_never_makes_a_lower_count_likelier(counts, low, more):
    gaps = max(counts) - np.array(counts)
    for mechanism in DRAWN:
        less, greater = (chances(counts, epsilon, mechanism) for epsilon in (low, low * more))
        for gap in set(gaps.tolist()):
            assert greater[gaps <= gap].sum() >= less[gaps <= gap].sum() - 1e-12
