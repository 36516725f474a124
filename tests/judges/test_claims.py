"""A few of the cases of ``run_claims``."""

import pytest

from tests.judges import run_claims
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(20))
def test_promises_hold_over_all_outputs_of_a_small_table(seed):
    tally = run_claims.enumerate_case(seed)
    assert tally.outputs > 1
    assert not tally.misses


def test_intervals_hold_the_true_epsilon_and_false_claims_are_refuted(monkeypatch):
    monkeypatch.setattr(run_claims, "EPSILONS", (0.3,))
    monkeypatch.setattr(run_claims, "SIZES", (100,))
    runs = 20
    ((_, _, hits, _),) = run_claims.covered(runs, 5)
    assert runs - hits <= run_claims.most_misses(runs, 0.05)
    ((_, _, (true, _, five)),) = run_claims.refuted(runs, 5)
    assert true <= 1
    assert five > runs / 2
