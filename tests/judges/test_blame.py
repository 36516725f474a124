"""Reasons and the least withholding, against all tables and all subsets of the numbers, on a few cases."""

import pytest

from tests.judges.run_blame import judge
from tests.kit.tiers import seeds


@pytest.mark.parametrize("seed", seeds(100, quick=(0, 3, 8)))
def test_no_case_misses(seed):
    assert judge(seed).misses == []
