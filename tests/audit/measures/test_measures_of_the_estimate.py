"""The measures of the adversary's estimate against their definitions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.kit.small_audits import bounds, evidence_of, flat_tree, read
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.measures import measures
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Interval
from treewarden.ppdm_models.tree.column import CategoricalColumn

# Example 1 of Zhu & Du (2010): three leaves by age; q2 and q3 share the last one.
EXAMPLE = flat_tree([[2, 0], [1, 1], [0, 2]], classes=("<=50K", ">50K"))
TRUTH = np.array([[2.0, 0], [1, 0], [0, 1], [0, 2]])
S_A = np.array([[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]])
S_B = np.array([[1, 0], [0.815, 0.185], [0.185, 0.815], [0, 1]])


def example(posterior, prior=None):
    place = CategoricalColumn(codes=np.array([0, 1, 1, 2]), categories=("p0", "p1", "p2"))
    study = CategoricalColumn(codes=np.array([0, 1, 0, 1]), categories=("Doctorate", "Masters"))
    people = Population(
        ("place", "study"),
        {"place": place, "study": study},
        TRUTH.sum(axis=1),
        np.array([1, 2, 2, 3]),
        TRUTH,
    )
    known = posterior if not isinstance(posterior, np.ndarray) else certain(posterior)
    return evidence_of(EXAMPLE, people, known, prior)


@pytest.mark.parametrize(
    ("estimate", "overall", "individual"), [(S_A, 0.231, 0.693), (S_B, 0.068, 0.205)]
)
def test_the_divergences_of_example_1_are_those_of_the_paper(estimate, overall, individual):
    assert read("kl_overall", example(estimate)).reading.low == pytest.approx(overall, abs=5e-4)
    taken = read("kl_individual", example(estimate))
    assert taken.reading == Interval(0, 0)
    assert taken.spots[-1].low == pytest.approx(individual, abs=5e-4)


def test_before_the_tree_of_example_1_the_divergence_is_ln_2():
    gain = read("information_gain", example(S_A)).reading
    assert gain.low == gain.high == pytest.approx(math.log(2) - 2 / 6 * math.log(2))


def test_certainty_and_disclosure_of_example_1_are_full_as_two_leaves_are_pure():
    assert read("confidence", example(S_A)).reading == Interval(1, 1)
    taken = read("disclosure", example(S_A))
    assert taken.reading == Interval(1, 1)
    assert taken.spots[0].note == "2 people with the true value <=50K"


def test_disclosure_counts_only_true_values_and_confidence_false_ones_too():
    wrong = np.array([[0.6, 0.4], [0.3, 0.7], [0.9, 0.1], [0.5, 0.5]])
    assert read("confidence", example(wrong)).reading == Interval(0.9, 0.9)
    assert read("disclosure", example(wrong)).reading == Interval(0.6, 0.6)


def test_ties_are_broken_both_ways_so_that_labels_alone_never_read_as_safe():
    flat = np.full((4, 2), 0.5)
    assert read("guess_accuracy", example(flat)).reading == Interval(0, 1)
    assert read("guess_accuracy", example(S_A)).reading == Interval(4 / 6, 1)


def test_the_gain_in_guesses_is_over_the_commonest_value():
    reading = read("guess_accuracy", example(S_B), over="marginal").reading
    assert reading.low == reading.high == pytest.approx(1 - 3 / 6)


def test_a_true_value_that_the_estimate_rules_out_makes_only_the_high_end_infinite():
    broken = np.array([[0.0, 1], [0.5, 0.5], [0.5, 0.5], [0, 1]])
    reading = read("kl_overall", example(broken)).reading
    assert reading.low == pytest.approx(2 / 6 * math.log(2))
    assert reading.high == math.inf
    gain = read("information_gain", example(broken)).reading
    assert gain.low == -math.inf
    assert gain.high == pytest.approx(math.log(2) - 2 / 6 * math.log(2))
    assert read("kl_individual", example(broken)).reading == Interval(0, 0)


def test_an_estimate_before_the_tree_that_rules_out_the_truth_bounds_the_gain_on_one_side_only():
    broken = certain(np.array([[0.0, 1], [0.5, 0.5], [0.5, 0.5], [0, 1]]))
    assert read("information_gain", example(S_A, broken)).reading.high == math.inf


def test_a_noisy_zero_is_not_clipped():
    noisy = np.array([[1e-300, 1], [0.5, 0.5], [0.5, 0.5], [0, 1]])
    assert read("kl_overall", example(noisy)).reading.low > 2 / 6 * 600


def test_bounds_on_the_estimate_become_ends_of_the_reading():
    within = bounds(
        [[0.7, 0.2], [0.4, 0.4], [0.4, 0.4], [0.1, 0.6]],
        [[0.8, 0.3], [0.6, 0.6], [0.6, 0.6], [0.4, 0.9]],
    )
    assert read("confidence", example(within)).reading == Interval(0.7, 0.9)
    assert read("disclosure", example(within)).reading == Interval(0.7, 0.9)
    assert read("guess_accuracy", example(within)).reading == Interval(4 / 6, 1)
    low = 2 * math.log(1 / 0.8) + 2 * math.log(1 / 0.6) + 2 * math.log(1 / 0.9)
    high = 2 * math.log(1 / 0.7) + 2 * math.log(1 / 0.4) + 2 * math.log(1 / 0.6)
    reading = read("kl_overall", example(within)).reading
    assert reading.low == pytest.approx(low / 6)
    assert reading.high == pytest.approx(high / 6)


@given(
    arrays(float, (4, 2), elements=st.floats(0.001, 1)),
    arrays(float, (4, 2), elements=st.floats(0.001, 1)),
)
def test_each_reading_within_bounds_contains_the_reading_of_every_estimate_there(one, other):
    one, other = (x / x.sum(axis=1, keepdims=True) for x in (one, other))
    within = bounds(np.minimum(one, other), np.maximum(one, other))
    for name in ("kl_overall", "kl_individual", "confidence", "disclosure", "guess_accuracy"):
        outer = read(name, example(within)).reading
        for estimate in (one, other, (one + other) / 2):
            inner = read(name, example(estimate)).reading
            assert outer.low <= inner.low + 1e-12
            assert inner.high <= outer.high + 1e-12


@given(arrays(float, (4, 2), elements=st.floats(0.001, 1)))
def test_the_vectorised_divergences_are_the_sums_of_the_definition(estimate):
    estimate = estimate / estimate.sum(axis=1, keepdims=True)
    each = []
    for row, truth in zip(estimate, TRUTH, strict=True):
        shares = truth / truth.sum()
        each.append(sum(p * math.log(p / x) for p, x in zip(shares, row, strict=True) if p))
    overall = sum(n / 6 * d for n, d in zip(TRUTH.sum(axis=1), each, strict=True))
    assert read("kl_overall", example(estimate)).reading.low == pytest.approx(overall)
    assert read("kl_individual", example(estimate)).reading.low == pytest.approx(min(each))


@pytest.mark.parametrize("name", ["kl_overall", "kl_individual", "information_gain"])
def test_rounding_over_many_profiles_does_not_part_the_ends_of_an_exact_reading(name):
    random = np.random.default_rng(0)
    truth = random.multinomial(3, [0.5, 0.5], 5000).astype(float)
    place = CategoricalColumn(codes=np.ones(5000, dtype=np.int64), categories=("p0", "p1", "p2"))
    leaf = np.full(5000, 2)
    people = Population(("place",), {"place": place}, truth.sum(axis=1), leaf, truth)
    evidence = evidence_of(EXAMPLE, people, certain(random.dirichlet([1, 1], 5000)))
    assert read(name, evidence).reading.is_exact


WIDE = bounds(
    [[0.7, 0.0], [0.2, 0.3], [0.4, 0.1], [0.0, 0.5]],
    [[1.0, 0.3], [0.7, 0.8], [0.9, 0.6], [0.5, 1.0]],
)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("confidence", (0.7, 1.0)),
        ("disclosure", (0.7, 1.0)),
        ("kl_individual", (0.0, -math.log(0.7))),
    ],
)
def test_of_an_estimate_within_bounds_the_worst_profile_counts_at_either_end(name, ends):
    reading = read(name, example(WIDE)).reading
    assert (reading.low, reading.high) == pytest.approx(ends)


def test_the_value_that_may_be_likeliest_is_named():
    turned = bounds([[0.5, 0.1], *[[0.5, 0.5]] * 3], [[0.6, 0.9], *[[0.5, 0.5]] * 3])
    assert read("confidence", example(turned)).spots[0].note == "most likely >50K"


@pytest.mark.parametrize("name", ["confidence", "disclosure", "kl_individual"])
def test_a_profile_of_nobody_is_no_place(name):
    evidence = example(S_A)
    truth = TRUTH.copy()
    truth[1] = 0.0
    people = replace(evidence.population, counts=truth.sum(axis=1), truth=truth)
    each = measures()[name].per_place(replace(evidence, population=people), {})
    assert each.indices.tolist() == [0, 2, 3]
