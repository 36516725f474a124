"""A small share of the judges of doors: how files and tables become facts, each case against an independent answer."""

import pytest

from tests.judges.run_doors import JUDGES, trial
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(12, quick=4))
@pytest.mark.parametrize("kind", JUDGES)
def test_no_claim_is_contradicted_by_the_independent_answer(kind, seed):
    assert trial(kind, seed).misses == []


def test_a_tie_that_the_learner_always_resolves_one_way_passes_nobody():
    # Two cuts of one column are equally good, and the rounding of logarithms says which of them is taken.
    assert trial("unlisted_columns", 770005).misses == []


@pytest.mark.parametrize("kind", JUDGES)
def test_a_seed_gives_the_same_case_again(kind):
    assert trial(kind, 3) == trial(kind, 3)
