import math

import numpy as np
import pytest

from treewarden.ppdm_models.methods.randomised.noise import (
    ClassNoise,
    Uniform,
    classes,
    gaussian,
    uniform,
)
from treewarden.ppdm_models.methods.randomised.reconstruction import Intervals
from treewarden.ppdm_models.methods.randomised.residual_privacy import JointIntervals, left, seen

EVEN = np.full(100, 0.01)
UNIT = Intervals(0, 0.01, 100)
BY_LEVEL = [
    (uniform, 0.25, 0.231, 0.228, 0.048),
    (uniform, 0.5, 0.405, 0.412, 0.069),
    (uniform, 1, 0.622, 0.649, 0.097),
    (uniform, 2, 0.789, 0.799, 0.138),
    (gaussian, 0.25, 0.235, 0.227, 0.089),
    (gaussian, 0.5, 0.419, 0.409, 0.161),
    (gaussian, 1, 0.665, 0.644, 0.294),
    (gaussian, 2, 0.870, 0.839, 0.539),
]


def test_two_uniform_numbers_have_the_known_entropy():
    found = left(seen(UNIT, EVEN, Uniform(0.5)))
    assert found.equivalent_width == pytest.approx(math.exp(-0.5), abs=2e-3)
    assert found.loss == pytest.approx(1 - math.exp(-0.5), abs=2e-3)


@pytest.mark.parametrize(("make", "level", "equivalent", "mean", "worst"), BY_LEVEL)
def test_a_uniform_attribute_keeps_what_is_known_of_it(make, level, equivalent, mean, worst):
    found = left(seen(UNIT, EVEN, make(level, 1)))
    assert found.equivalent_width == pytest.approx(equivalent, abs=0.003)
    assert found.mean_width == pytest.approx(mean, abs=0.003)
    assert found.worst_width == pytest.approx(worst, abs=0.004)


def test_somebody_alone_in_his_interval_is_found_there():
    shares = np.array([0.5, 0.0, 0.0, 0.5])
    found = left(seen(Intervals(0, 1, 4), shares, Uniform(0.5)))
    assert found.equivalent_width < 0.25
    assert found.loss == pytest.approx(1 - 2 ** -(1 + 0.5 / math.log(2)), abs=0.01)


def test_a_breach_is_counted_by_whom_it_meets():
    # Half of the people see 0.9 against 0.1 become known, the others the reverse; of two values, each has one half.
    of = JointIntervals(
        Intervals(0, 1, 2), np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.5, 0.5]])
    )
    assert of.breached(0.5, 0.9) == pytest.approx(1)
    assert of.breached(0.5, 0.91) == pytest.approx(0)
    assert of.breached(0.25, 0.45) == pytest.approx(1)
    assert of.breached(0.25, 0.46) == pytest.approx(0)


def test_noise_without_end_breaches_nothing():
    assert seen(UNIT, EVEN, gaussian(10, 1)).breached(0.1, 0.5) == 0


def test_of_two_whole_numbers_noise_as_wide_as_their_distance_leaves_hardly_a_doubt():
    own = Intervals(-0.5, 1, 2)
    even = left(seen(own, np.array([0.5, 0.5]), uniform(1, 1), are_points=True))
    # Both can be only between 1 - alpha and alpha, with alpha = 1 / 1.9: 5 % of the noisy values.
    assert even.mean_width == pytest.approx(0.05, abs=0.004)
    assert even.equivalent_width == pytest.approx(2**0.05 - 1, abs=0.004)
    assert even.loss == pytest.approx(1 - 2**-0.95, abs=0.004)
    assert even.worst_width == 0


@pytest.mark.parametrize("hiding", [uniform(1, 4), gaussian(0.5, 4), classes(0.5, 0, 4)])
def test_what_is_left_of_whole_numbers_is_what_drawn_ones_leave(hiding):
    random = np.random.default_rng(3)
    shares = np.array([0.4, 0.1, 0.1, 0.1, 0.3])
    own = Intervals(-0.5, 1, 5)
    found = left(seen(own, shares, hiding, are_points=True))
    true = random.choice(5, 4_000, p=shares).astype(float)
    if isinstance(hiding, ClassNoise):
        chances = hiding.hidden(np.arange(5.0)) == hiding.hidden(true)[:, None]
    else:
        noisy = true + hiding.draw(len(true), random)
        chances = hiding.density(noisy[:, None] - np.arange(5.0))
    posterior = chances * shares / (chances @ shares)[:, None]
    stretches = [
        min(j - i for i in range(5) for j in range(i, 5) if row[i : j + 1].sum() >= 0.95 - 1e-9)
        for row in posterior
    ]
    assert found.mean_width == pytest.approx(np.mean(stretches) / 4, abs=0.02)
    assert found.worst_width == np.sort(stretches)[len(true) // 100] / 4


def test_a_class_holds_the_whole_numbers_that_are_in_it():
    # Classes [0, 2) and [2, 3]: each holds two of the four.
    found = left(
        seen(Intervals(-0.5, 1, 4), np.full(4, 0.25), ClassNoise(0, 3, 2), are_points=True)
    )
    assert found.mean_width == found.worst_width == pytest.approx(1 / 3)
    assert found.loss == pytest.approx(0.5)


@pytest.mark.parametrize("are_points", [False, True])
def test_classes_that_have_nothing_to_do_with_values_change_nothing(are_points):
    shares = np.array([0.4, 0.1, 0.2, 0.3])
    own = Intervals(-0.5, 1, 4)
    alone = seen(own, shares, gaussian(1, 4), are_points=are_points)
    split = np.outer([0.3, 0.0, 0.7], shares)
    together = seen(own, split, gaussian(1, 4), are_points=are_points)
    for field in ("equivalent_width", "loss", "mean_width", "worst_width"):
        assert getattr(left(together), field) == pytest.approx(getattr(left(alone), field))
    assert together.breached(0.1, 0.4) == pytest.approx(alone.breached(0.1, 0.4))


def test_a_class_that_tells_the_half_leaves_no_more_than_that():
    halves = np.kron(np.eye(2), np.full(50, 0.01))
    found = left(seen(UNIT, halves, gaussian(10, 1)))
    assert found.equivalent_width == pytest.approx(0.5, abs=0.001)
    assert found.loss == pytest.approx(0.5, abs=0.001)
    assert found.mean_width == pytest.approx(0.475, abs=0.003)
    assert seen(UNIT, halves, gaussian(10, 1)).breached(0.25, 0.49) == pytest.approx(1)
