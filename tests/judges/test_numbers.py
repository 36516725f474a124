"""What sums of people's amounts prove, against a list of every table, on a few of the cases that judge it in full."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.run_numbers import case, tables, trial
from treewarden.audit.engine import driver


@pytest.mark.parametrize("seed", range(700, 712))
def test_no_case_misses(seed):
    assert trial(seed).misses == []


def test_the_true_amounts_are_among_those_that_are_listed():
    one = case(703)
    assert any(np.array_equal(each, one.truth) for each in tables(one))


def test_a_proof_of_too_much_is_noticed(monkeypatch):
    def wrong(counts, boxes, clock):
        return replace(boxes, low=boxes.high)

    monkeypatch.setattr(driver, "hold_ranges", wrong)
    assert any("less than is proved" in said for said in trial(703).misses)
