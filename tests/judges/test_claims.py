"""A few of the cases of ``run_claims``."""

import pytest

from tests.judges import run_claims
from tests.kit.tiers import cases, seeds


@pytest.mark.parametrize("seed", seeds(20))
def test_promises_hold_over_all_outputs_of_a_small_table(seed):
    tally = run_claims.enumerate_case(seed)
    assert tally.outputs > 1
    assert not tally.misses


@pytest.mark.parametrize("trees", cases([1, 5], quick=1))
def test_intervals_hold_the_true_epsilon_and_false_claims_are_refuted(trees):
    runs, cells = 20, [(0.3, 100)]
    (cell,) = run_claims.covered(cells, runs, 5, trees)
    assert not cell.problem
    assert run_claims.CONFIDENCE <= cell.least <= cell.mean
    ((_, _, (true, _, five)),) = run_claims.refuted(cells, runs, 5, trees)
    assert true <= 1
    assert five > runs / (2 * trees)  # leaves of several trees are larger, and each tells less
