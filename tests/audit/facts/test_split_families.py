"""Bins found by counting are those found by sorting."""

from __future__ import annotations

import numpy as np
import pytest

from treewarden.audit.facts.rows import Grouping, Origin
from treewarden.audit.facts.split_families import (
    Levels,
    NodeAttribute,
    TableAttribute,
    bins_at,
    bins_of,
)
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.tree import Criterion


@pytest.mark.parametrize("size", [3, 12, 200])
@pytest.mark.parametrize("seed", range(4))
def test_bins_are_the_same_however_many_values_the_table_has(seed, size):
    draw = np.random.default_rng(seed)
    column = np.round(draw.normal(size=300), 1 + seed % 2)
    levels = np.unique(column)
    values = draw.choice(column, size=size)
    at = NodeAttribute(
        node=0,
        attribute=TableAttribute(
            name="x",
            is_numeric=True,
            names=(),
            distinct=len(levels),
            lacking=0.0,
            cuts=np.zeros(0),
            levels=Levels(levels, tuple(map(number_text, levels.tolist()))),
        ),
        grouping=Grouping.ONE_AGAINST_REST,
        criterion=Criterion.GINI,
        profiles=np.arange(size),
        chosen=np.zeros(size, dtype=np.intp),
        values=values,
        records=np.ones(size),
        origin=Origin("split_choice", "a node", 0),
        codes=np.searchsorted(levels, values),
    )
    found, sorted_out = bins_at(at), bins_of(values)
    np.testing.assert_array_equal(found.found, sorted_out.found)
    np.testing.assert_array_equal(found.of, sorted_out.of)
    if found.names:
        assert found.names == tuple(map(number_text, sorted_out.found.tolist()))
