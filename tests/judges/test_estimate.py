"""A small share of the soundness harness: random cases, judged by code and methods that are not the product's."""

import numpy as np
import pytest

from tests.judges.estimate.cases import sample
from tests.judges.estimate.disguise import cut, renamed
from tests.judges.run_estimate import Trial, answered, same, trial
from tests.kit.tiers import cases, in_tiers

ONCE_WRONG = (
    2202,
    3059,
    3218,
    3360,
    3451,
    4961,
    8295,
    8369,
    50230,
    54085,
    57442,
    61033,
    80529,
    701365,
    703715,
)
"""Seeds whose answer or bound was wrong once."""
LONG = (2202, 3360, 4961, 8295, 8369, 50230, 54085, 61033, 80529, 701365, 703715)
"""Those of them that take much longer than all others."""
LONGEST = (2202, 8295, 8369, 50230, 61033, 703715)
"""Those of these that take four to fifteen seconds each."""
QUICK = (*range(5), *(seed for seed in ONCE_WRONG if seed not in LONG))
SECOND = (*range(9), *(seed for seed in ONCE_WRONG if seed not in LONGEST))
SEEDS = in_tiers((*range(10), *range(11, 31), *ONCE_WRONG), QUICK, "more_seeds", SECOND)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_case_is_answered_soundly(seed):
    found = trial(seed)
    assert found.misses == []
    assert found.stalled == []


@pytest.mark.parametrize(
    ("seed", "disguise"),
    cases(
        [
            (202104, cut),
            (202104, renamed),
            (200847, renamed),
            (80529, renamed),
            (100940, cut),
            (100945, renamed),
            (200914, renamed),
            (202100, cut),
        ],
        quick=3,
    ),
)
def test_each_form_of_a_problem_with_several_estimates_contains_what_the_other_says(seed, disguise):
    answer, found = answered(sample(seed)), Trial(seed)
    same(found, answer, disguise(answer.sample, np.random.default_rng(seed)), "in another form")
    assert found.misses == []
    assert found.stalled == []


@pytest.mark.parametrize(
    "seed", cases([80529, 100945, 200847, 200914, 202104], quick=(200847, 200914, 202104))
)
def test_readings_span_the_mirror_images_of_an_estimate_in_which_classes_alike_differ(seed):
    answer = answered(sample(seed))
    posterior = answer.posterior
    assert answer.report.blocks.several
    assert (posterior.low <= posterior.values).all()
    assert (posterior.values <= posterior.high).all()
    assert (posterior.high - posterior.low).max() > 1e-2
