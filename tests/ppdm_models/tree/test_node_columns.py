"""What nodes publish, read from columns: the same as from the nodes, of which none is made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.ppdm_models.tree.test_node_table import table
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.plain_splits import (
    class_counts_of,
    is_inner,
    labels_of,
    tells_classes,
    totals_of,
    where_of,
)
from treewarden.ppdm_models.tree.tree import Feature, Tree

AGE = Feature("age", numeric=True)
TABLES = {
    "as read": table(),
    "no counts": table(class_counts=None),
    "no records": table(records=None, class_counts=np.array([[3.0, 2.0], [3.0, 0.0], [0.1, 0.2]])),
    "shares": table(class_counts=None, class_shares=np.array([[0.5, 0.5], [np.nan] * 2, [0, 1]])),
    "unnamed": table(scores=[None, "no", None], lines=None),
}
EVERY = np.array([2, 0, 1])


@pytest.mark.parametrize("name", TABLES)
def test_columns_say_what_nodes_say(name):
    tree = Tree(TABLES[name], (AGE,), "risk", classes=("no", "yes"), source="loan.json")
    plain = replace(tree, nodes=tuple(replace(TABLES[name])))
    for asked in (is_inner, totals_of, tells_classes):
        assert np.array_equal(asked(tree), asked(plain), equal_nan=asked is totals_of)
    counts = class_counts_of(tree, EVERY)
    assert np.array_equal(counts, class_counts_of(plain, EVERY), equal_nan=True)
    for chosen in (EVERY, EVERY[:1], EVERY[2:]):
        found, told = labels_of(tree, chosen), labels_of(plain, chosen)
        assert (found is None) == (told is None)
        assert found is None or found.tolist() == told.tolist()
    assert (tree.leaf_count, tree.depth) == (plain.leaf_count, plain.depth) == (2, 1)
    assert [where_of(tree, k) for k in range(3)] == [plain.where(node) for node in plain.nodes]
    assert isinstance(tree.nodes, NodeTable)
    assert tree.nodes._made is None
