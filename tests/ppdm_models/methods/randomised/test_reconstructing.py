import numpy as np
import pytest
from scipy.integrate import dblquad

from treewarden.ppdm_models.methods.randomised.noise import (
    Gaussian,
    Uniform,
    classes,
    gaussian,
    uniform,
)
from treewarden.ppdm_models.methods.randomised.reconstruction import (
    Intervals,
    Kernel,
    intervals,
    kernel,
    membership,
    ranked,
    reconstruct,
)

TINY = np.array([-0.5, 0.5, 0.5, 1.5, 1.5, 2.5, 3.5, 4.5])
FOUR = Intervals(0, 1, 4)


@pytest.mark.parametrize(
    ("noise", "steps", "shares"),
    [
        (Uniform(1), 1, [0.3333, 0.25, 0.1875, 0.2292]),
        (Uniform(1), None, [0.4020, 0.2203, 0.1293, 0.2485]),
        (Gaussian(1), 1, [0.3159, 0.2592, 0.2046, 0.2203]),
        (Gaussian(1), None, [0.3519, 0.2545, 0.1754, 0.2182]),
    ],
)
def test_a_case_worked_out_by_hand(noise, steps, shares):
    found = reconstruct(TINY, noise, FOUR, most_steps=steps or 5_000)
    assert found.shares == pytest.approx(shares, abs=5e-5)
    if steps is None:
        assert found.is_settled
        assert found.steps == (3 if isinstance(noise, Uniform) else 2)


@pytest.mark.parametrize("noise", [Uniform(0.8), Gaussian(0.7)])
def test_the_exact_kernel_is_the_chance_that_two_integrals_give(noise):
    wide = FOUR.widened(noise.reach)
    found = kernel(noise, FOUR, wide, Kernel.EXACT)
    assert found.sum(axis=0) == pytest.approx(1, abs=1e-5)
    own, other = FOUR.edges[1:3], wide.edges[4:6]

    def density(w, x):
        return float(noise.density(np.array([w - x]))[0])

    by_hand, _ = dblquad(density, *own, *other, epsabs=1e-4)
    assert found[4, 1] == pytest.approx(by_hand, abs=2e-3)


@pytest.mark.parametrize("make", [uniform, gaussian])
@pytest.mark.parametrize("kind", Kernel)
def test_the_distribution_comes_back_better_than_the_noisy_values_show_it(make, kind):
    random = np.random.default_rng(7)
    true = np.where(random.random(50_000) < 0.7, random.uniform(20, 40, 50_000), 70.0)
    noise = make(0.5, 60)
    values = true + noise.draw(len(true), random)
    own = intervals(20, 80, len(true))
    histogram = np.bincount(own.numbers(true), minlength=own.count) / len(true)
    naive = np.bincount(own.numbers(values), minlength=own.count) / len(true)
    found = reconstruct(values, noise, own, kind)
    assert np.abs(found.shares - histogram).sum() < 0.7 * np.abs(naive - histogram).sum()
    assert found.shares.sum() == pytest.approx(1)


def test_values_without_noise_to_speak_of_come_back_as_they_are():
    values = np.repeat([0.5, 1.5, 2.5, 3.5], [10, 30, 40, 20])
    assert reconstruct(values, Uniform(1e-6), FOUR).shares == pytest.approx([0.1, 0.3, 0.4, 0.2])


def test_missing_values_do_not_count():
    with_gaps = np.append(TINY, [np.nan, np.nan])
    assert (
        reconstruct(with_gaps, Uniform(1), FOUR).shares.tolist()
        == reconstruct(TINY, Uniform(1), FOUR).shares.tolist()
    )


def test_a_value_beyond_the_noise_is_refused_with_its_row():
    with pytest.raises(ValueError, match="row 3: the value lies further from the domain"):
        reconstruct(np.array([np.nan, 1.0, 9.0]), Uniform(1), FOUR)
    with pytest.raises(ValueError, match="the column has no values"):
        reconstruct(np.array([np.nan]), Uniform(1), FOUR)


def test_the_ends_of_uniform_noise_are_within_its_reach():
    assert reconstruct(np.array([-1.0, 5.0]), Uniform(1), FOUR).shares[[0, 3]].sum() > 0.9


def test_ranks_keep_the_shares_and_the_order():
    values = np.array([5.0, 1.0, 3.0, 2.0, 4.0, 0.0, 7.0, 6.0, 9.0, 8.0])
    found = ranked(values, np.array([0.2, 0.5, 0.3]))
    assert np.bincount(found).tolist() == [2, 5, 3]
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


def test_equal_values_go_by_their_rows():
    assert ranked(np.zeros(4), np.array([0.5, 0.5])).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("records", "is_whole", "count"),
    [(100_000, False, 100), (2_500, False, 25), (5, False, 10), (5, True, 61)],
)
def test_there_is_an_interval_for_a_hundred_records_or_for_each_whole_number(
    records, is_whole, count
):
    found = intervals(20, 80, records, is_whole=is_whole)
    assert found.count == count
    assert found.edges[0] == (19.5 if is_whole else 20)
    assert found.edges[-1] == pytest.approx(80.5 if is_whole else 80)


def test_an_empty_domain_is_refused():
    with pytest.raises(ValueError, match="the domain is from 3 to 3"):
        intervals(3, 3, 100)


def test_of_classes_it_tells_how_often_each_occurs_and_no_more():
    own = intervals(0, 10, 1_000)
    hiding = classes(0.475, 0, 10)
    values = hiding.hidden(np.array([0.0, 1.0, 2.0, 9.0]))
    found = reconstruct(values, hiding, own)
    assert found.shares.tolist() == pytest.approx([0.15] * 5 + [0.05] * 5)


def test_whole_numbers_at_the_ends_of_a_domain_are_in_the_outermost_classes():
    chances = membership(classes(0.475, 0, 4), intervals(0, 4, 1_000, is_whole=True))
    assert chances[:, 0].tolist() == [1, 0]
    assert chances[:, 4].tolist() == [0, 1]
    assert chances[:, 2].tolist() == [0.5, 0.5]
