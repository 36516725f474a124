"""What leaves of several trees prove, against a list of every table, on a few of the cases that judge it in full."""

import numpy as np
import pytest

from tests.judges import run_ensembles as ensembles_soundness
from tests.judges.run_ensembles import case, tables, trial


@pytest.mark.parametrize("seed", range(700, 712))
def test_no_case_misses(seed):
    assert trial(seed).misses == []


def test_the_true_table_is_among_those_that_are_listed():
    rows, truth = case(703)
    assert any(np.array_equal(each, truth) for each in tables(rows))


def test_a_proof_of_too_much_is_noticed(monkeypatch):
    def wrong(counts, low, high, d):
        return high, high

    monkeypatch.setattr(ensembles_soundness, "tightened", wrong)
    assert any("too much below" in said for said in trial(703).misses)
