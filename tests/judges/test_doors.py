"""A small share of the judges of doors: how files and tables become facts, each case against an independent answer."""

import pytest

from tests.judges.run_doors import JUDGES, trial

SEEDS = range(12)


@pytest.mark.parametrize("kind", JUDGES)
def test_no_claim_is_contradicted_by_the_independent_answer(kind):
    misses = {seed: trial(kind, seed).misses for seed in SEEDS}
    assert not {seed: claims for seed, claims in misses.items() if claims}


@pytest.mark.parametrize("kind", JUDGES)
def test_a_seed_gives_the_same_case_again(kind):
    assert trial(kind, 3) == trial(kind, 3)
