"""Outputs beside a model, against a list of every labelling that agrees with them, on a few cases."""

import pytest

from tests.judges import outputs_by_hand
from tests.judges.run_outputs import drawn_case, judge
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(600, quick=(2, 5, 11, 583), second=40))
def test_no_case_misses(seed):
    assert judge(seed).misses == []


def test_the_true_labels_are_among_those_that_agree():
    for seed in range(15):
        case = drawn_case(seed)
        assert case.table.labels in outputs_by_hand.labellings(case.table, case.outputs), seed
