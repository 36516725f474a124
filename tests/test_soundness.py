"""A small share of the soundness harness: random cases, judged by code and methods that are not the product's."""

import pytest

from benchmarks.soundness import trial

SEEDS = (
    *range(40),
    2202,
    3059,
    3218,
    3360,
    3451,
    4359,
    4366,
    4961,
    8295,
    8369,
    50230,
    54085,
    57442,
    61033,
    80529,
)
"""The first ones, and those whose answer or bound was wrong once."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_case_is_answered_soundly(seed):
    found = trial(seed)
    assert found.misses == []
    assert found.stalled == []
