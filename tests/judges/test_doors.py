"""A small share of the judges of doors: how files and tables become facts, each case against an independent answer."""

import pytest

from tests.judges.run_doors import JUDGES, trial
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(12, quick=4))
@pytest.mark.parametrize("kind", JUDGES)
def test_no_claim_is_contradicted_by_the_independent_answer(kind, seed):
    assert trial(kind, seed).misses == []


@pytest.mark.parametrize("kind", JUDGES)
def test_a_seed_gives_the_same_case_again(kind):
    assert trial(kind, 3) == trial(kind, 3)
