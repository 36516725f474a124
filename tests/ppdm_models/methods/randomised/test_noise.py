import numpy as np
import pytest
from scipy.integrate import quad

from treewarden.ppdm_models.methods.randomised.noise import (
    KINDS,
    ClassNoise,
    classes,
    gaussian,
    hiding,
    noisy,
    uniform,
    unpredictable,
)


def test_parameters_follow_from_level_and_confidence():
    assert uniform(1, 1).alpha == pytest.approx(0.5263, abs=1e-4)
    assert gaussian(1, 1).sigma == pytest.approx(0.2551, abs=1e-4)
    assert gaussian(1, 1, 0.5).sigma == pytest.approx(1 / 1.349, abs=1e-4)
    assert gaussian(1, 1, 0.999).sigma == pytest.approx(1 / 6.581, abs=1e-4)
    assert classes(0.5, 20, 80, 0.95).wide == pytest.approx(0.5 * 60 / 0.95)


@pytest.mark.parametrize("noise", [uniform(0.5, 60), gaussian(0.5, 60)])
def test_so_many_draws_lie_within_the_interval_that_the_level_names(noise):
    drawn = noise.draw(200_000, np.random.default_rng(1))
    assert (np.abs(drawn) <= 0.25 * 60).mean() == pytest.approx(0.95, abs=0.003)


@pytest.mark.parametrize("noise", [uniform(1, 2), gaussian(1, 2)])
@pytest.mark.parametrize("end", [-1.7, -0.4, 0.0, 0.6, 2.5])
def test_the_second_integral_is_the_density_integrated_twice(noise, end):
    def once(point):
        return (end - point) * float(noise.density(np.array([point]))[0])

    low = -8 * noise.reach
    by_hand, _ = quad(once, low, end, points=[-noise.reach, 0, noise.reach], limit=400)
    assert float(noise.second_integral(np.array([end]))[0]) == pytest.approx(by_hand, abs=1e-6)


def test_missing_values_stay_missing():
    values = np.array([1.0, np.nan, 3.0])
    assert np.isnan(noisy(values, uniform(1, 2), unpredictable())).tolist() == [False, True, False]
    assert np.isnan(ClassNoise(0, 4, 1).hidden(values)).tolist() == [False, True, False]


def test_a_value_becomes_the_middle_of_its_class_and_the_last_class_ends_with_the_domain():
    hidden = ClassNoise(0, 10, 4).hidden(np.array([0.0, 3.9, 4.0, 9.5, 10.0]))
    assert hidden.tolist() == [2, 2, 6, 9, 9]


def test_nobody_draws_the_same_twice():
    assert unpredictable().random() != unpredictable().random()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("level", "width", "confidence", "problem"),
    [
        (0, 1, 0.95, "the level is 0"),
        (10.5, 1, 0.95, "the level is 10.5"),
        (1, 0, 0.95, "the range is 0 wide"),
        (1, np.inf, 0.95, "the range is inf wide"),
        (1, 1, 1, "the confidence is 1"),
        (np.nan, 1, 0.95, "the level is nan"),
    ],
)
def test_what_cannot_be_is_refused(kind, level, width, confidence, problem):
    with pytest.raises(ValueError, match=problem):
        hiding(kind, level, 0, width, confidence)
