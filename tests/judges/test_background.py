"""Facts from elsewhere with models of every kind, against a list of every table, on a few cases."""

import pytest

from tests.judges.run_background import drawn_case, tables, trial
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(60, quick=(8, 10, 23, 27, 14, 29)))
def test_no_case_misses(seed):
    found = trial(seed)
    assert found.misses == []
    assert not any(name.endswith("undetermined") for name in found.tried)


def test_the_true_table_is_among_those_that_are_listed():
    for seed in range(30):
        case = drawn_case(seed)
        assert case.values.tolist() in tables(case).tolist(), seed
