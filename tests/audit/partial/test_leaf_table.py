"""What is proved of the classes in leaves, held against the search for all tables that fit."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.audit.partial.test_splits import by_age
from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial.tree_context import leaf_table
from treewarden.audit.progress import clock

FIELDS = ("low", "high", "certain", "excluded", "reached_low", "reached_high", "open_exclusions")


@pytest.mark.parametrize(
    ("below", "young", "more"), [*product((6, 5, 0), (2, 0), (0, 1)), (8, 1, -1)]
)
def test_counts_that_the_table_bears_out_or_not_prove_what_a_search_finds(below, young, more):
    """``below`` of eight, ``young`` of two and ``more`` than eight of all have class 0, says the file."""
    tree, population = by_age()
    nodes = list(tree.nodes)
    said = {1: (below, 8 - below), 3: (young, 2 - young), 0: (8 + more, 8 - more)}
    for node, counts in said.items():
        nodes[node] = replace(nodes[node], class_counts=tuple(map(float, counts)))
    leaves = leaf_table(
        replace(tree, nodes=tuple(nodes)), population, Knowledge(split=SplitLevel.NONE)
    )
    assert leaves.are_counted
    found, searched = leaves.proved(clock(10.0)), reason_in_doubt(leaves.system, until=clock(10.0))
    assert found.consistency is searched.consistency
    for name in FIELDS:
        assert np.array_equal(getattr(found, name), getattr(searched, name)), name
    told = estimate(leaves.system)[0].values
    assert leaves.estimate().values == pytest.approx(told, abs=1e-9)
