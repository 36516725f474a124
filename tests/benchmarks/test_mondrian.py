"""The baseline of the study of sanitisation: Mondrian groups of k."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mondrian import mondrian
from tests.ppdm_models.methods.tpp.tpp_strategies import tables
from treewarden.ppdm_models.methods.tpp.sanitise import grouped
from treewarden.ppdm_models.tree.column import CategoricalColumn


@given(tables(), st.integers(1, 10))
def test_every_group_holds_k_records(table, k):
    columns, response = table
    size = len(response.values)
    made = mondrian(columns, response, min(k, size), size)
    everyone = CategoricalColumn(codes=np.zeros(size, dtype=np.int64), categories=("s",))
    assert grouped(made, everyone).k >= min(k, size)
