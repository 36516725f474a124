"""Attacks on noisy records: what they get back is what their errors say."""

import numpy as np
import pytest

from treewarden.ppdm_models.methods.randomised.attacks import (
    Moments,
    best_errors,
    correlations,
    linear_bayes,
    spectral,
    true_covariance,
)
from treewarden.ppdm_models.methods.randomised.noise import classes, gaussian

RECORDS, ATTRIBUTES = 20_000, 20
MOST = {0.0: 0.4, 0.5: 0.35, 0.9: 0.25, 0.99: 0.22}
"""What the linear estimate is off by at most, in standard deviations of the noise."""


def correlated(rho, random, attributes=ATTRIBUTES):
    common = random.normal(size=(RECORDS, 1))
    own = random.normal(size=(RECORDS, attributes))
    return np.sqrt(rho) * common + np.sqrt(1 - rho) * own


def covariance(values):
    return np.atleast_2d(np.cov(values, rowvar=False))


def error_to(attack, noisy, true):
    return np.sqrt(np.mean((attack.estimates(noisy) - true) ** 2, axis=0))


def moments(true, noisy):
    found = Moments(np.zeros(true.shape[1]), np.ones(true.shape[1]))
    for rows in np.array_split(np.arange(len(true)), 7):
        found.add(true[rows], noisy[rows])
    return found


@pytest.mark.parametrize("rho", MOST)
def test_correlation_gives_noise_away(rho):
    random = np.random.default_rng(11)
    true = correlated(rho, random)
    sigma = gaussian(1, float(np.ptp(true))).sigma
    deviations = np.full(ATTRIBUTES, sigma)
    noisy = true + random.normal(0, sigma, true.shape)
    bayes = linear_bayes(covariance(noisy), deviations)
    filtered = spectral(covariance(noisy), deviations, RECORDS)
    measured = error_to(bayes, noisy, true).mean() / sigma
    by_filter = error_to(filtered, noisy, true).mean() / sigma
    assert measured < MOST[rho]
    assert measured < by_filter
    assert by_filter == pytest.approx(1, abs=0.01) if rho == 0 else by_filter < 0.9
    assert bayes.errors(moments(true, noisy)).mean() / sigma == pytest.approx(measured, abs=1e-3)


def test_what_an_attack_is_off_by_follows_from_moments_alone():
    random = np.random.default_rng(15)
    true = correlated(0.7, random, 4) * [1, 2, 3, 4] + [5, 0, -3, 100]
    noisy = true + random.uniform(-2, 2, true.shape)
    deviations = np.full(4, 2 / np.sqrt(3))
    for attack in (
        linear_bayes(covariance(noisy), deviations),
        spectral(covariance(noisy), deviations, RECORDS),
    ):
        by_moments = attack.errors(moments(true, noisy))
        assert by_moments == pytest.approx(error_to(attack, noisy, true), rel=1e-6)


def test_the_best_linear_estimate_of_one_attribute_is_the_known_one():
    random = np.random.default_rng(12)
    true = random.normal(5, 1, (50_000, 1))
    noisy = true + random.normal(0, 2, true.shape)
    found = linear_bayes(covariance(noisy), np.array([2.0]))
    assert found.gain[0, 0] == pytest.approx(1 / 5, abs=0.02)
    assert found.errors(moments(true, noisy))[0] == pytest.approx(np.sqrt(4 / 5), abs=0.02)


def test_an_attribute_without_noise_stands_as_it_is_and_helps_with_the_others():
    random = np.random.default_rng(16)
    true = correlated(0.99, random, 2)
    noisy = true + random.normal(0, [0, 3], true.shape)
    deviations = np.array([0.0, 3.0])
    bayes = linear_bayes(covariance(noisy), deviations)
    errors = bayes.errors(moments(true, noisy))
    assert errors[0] == pytest.approx(0, abs=1e-6)
    assert errors[1] < 0.2
    filtered = spectral(covariance(noisy), deviations, RECORDS)
    assert filtered.gain[0].tolist() == [1, 0]


def test_correlations_are_those_of_the_true_values():
    random = np.random.default_rng(13)
    true = correlated(0.9, random)
    noisy = true + random.normal(0, 1, true.shape)
    found = correlations(true_covariance(covariance(noisy), np.ones(ATTRIBUTES)))
    assert found[0, 1] == pytest.approx(0.9, abs=0.03)
    assert np.diag(found) == pytest.approx(1)


def test_an_attribute_that_hardly_varies_goes_with_nothing():
    random = np.random.default_rng(14)
    noisy = random.normal(0, 1, (1_000, 2)) * np.array([1.0, 0.5])
    found = correlations(true_covariance(covariance(noisy), np.array([2.0, 2.0])))
    assert (found == 0).all()


def test_records_with_a_missing_value_do_not_count():
    found = Moments(np.zeros(2), np.ones(2))
    found.add(np.array([[1.0, np.nan], [1, 2], [3, 4]]), np.array([[1.0, 1], [1, 3], [3, 3]]))
    assert found.records == 2
    assert found.means.tolist() == [2, 3, 2, 3]


def test_no_linear_attack_does_better_than_the_best_one():
    random = np.random.default_rng(17)
    true = correlated(0.8, random, 5)
    noisy = true + random.uniform(-2, 2, true.shape)
    deviations = np.full(5, 2 / np.sqrt(3))
    known = moments(true, noisy)
    bayes = linear_bayes(covariance(noisy), deviations).errors(known)
    filtered = spectral(covariance(noisy), deviations, RECORDS).errors(known)
    best = best_errors(known)
    assert best == pytest.approx(bayes, rel=0.01)
    assert (best <= np.minimum(bayes, filtered) + 1e-9).all()
    fitted = np.linalg.lstsq(noisy - noisy.mean(axis=0), true - true.mean(axis=0))[0]
    off = true - true.mean(axis=0) - (noisy - noisy.mean(axis=0)) @ fitted
    assert best == pytest.approx(np.sqrt((off**2).mean(axis=0)))


def test_who_knows_the_class_needs_to_tell_less():
    random = np.random.default_rng(20)
    labels = random.integers(0, 3, RECORDS)
    true = random.normal(5.0 * labels, 1)[:, None]
    noisy = true + random.normal(0, 2, true.shape)
    known = Moments(np.zeros(1), np.ones(1), 4)
    for rows in np.array_split(np.arange(RECORDS), 7):
        known.add(true[rows], noisy[rows], labels[rows])
    assert best_errors(known)[0] == pytest.approx(np.sqrt(4 / 5), abs=0.02)
    assert best_errors(moments(true, noisy))[0] > 1.5
    assert known.covariance == pytest.approx(moments(true, noisy).covariance)


def test_classes_that_cross_tell_where_in_them_a_value_lies():
    random = np.random.default_rng(18)
    first = random.random(RECORDS)
    true = np.stack([first, first], axis=1)
    halves, thirds = classes(0.475, 0, 1), classes(0.95 / 3, 0, 1)
    noisy = np.stack([halves.hidden(true[:, 0]), thirds.hidden(true[:, 1])], axis=1)
    assert best_errors(moments(true, noisy))[0] < 0.7 * 0.5 / np.sqrt(12)


def test_of_columns_that_are_the_same_nothing_is_divided_by_nothing():
    random = np.random.default_rng(19)
    first = classes(0.475, 0, 1).hidden(random.random(1_000))
    both = np.stack([first, first], axis=1)
    known = moments(both, both)
    assert best_errors(known) == pytest.approx(0, abs=1e-6)
    assert linear_bayes(covariance(both), np.zeros(2)).errors(known).tolist() == [0, 0]
