"""Ends of tests on 32-bit numbers: the nearest 32-bit number on the side that lets the same records pass."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.plain_splits import on_32_bits
from treewarden.ppdm_models.tree.predicate import Always, Never, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

ENDS = st.floats(-1e6, 1e6, allow_nan=False)


def tree_of(test):
    nodes = (Node(0, "0", None, (1, 2)), Node(1, "1", 0, (), test), Node(2, "2", 0, (), Always()))
    return Tree(nodes, (Feature("x", numeric=True, single=True),), "y", ("a",))


@given(ends=st.tuples(ENDS, ENDS), closed=st.tuples(st.booleans(), st.booleans()))
def test_the_same_32_bit_numbers_pass(ends, closed):
    low, high = sorted(ends)
    if low == high and closed != (True, True):
        closed = (True, True)
    tree = tree_of(NumericTest("x", low, high, *closed))
    near = np.array(ends, dtype=np.float32)
    values = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    columns = {"x": NumericColumn(values.astype(np.float64))}
    moved = on_32_bits(tree)
    assert route(moved, columns).tolist() == route(tree, columns).tolist()
    test = moved.nodes[1].test
    assert isinstance(test, Never) or (
        np.float32(test.low) == test.low and np.float32(test.high) == test.high
    )


def test_an_interval_without_a_32_bit_number_is_never_passed():
    assert on_32_bits(tree_of(NumericTest("x", 0.1, 0.1, True, True))).nodes[1].test == Never()


def test_64_bit_features_are_left_alone():
    tree = replace(tree_of(NumericTest("x", high=0.1)), features=(Feature("x", numeric=True),))
    assert on_32_bits(tree) is tree


def test_a_fitted_tree_routes_alike_after_its_way_through_pmml():
    ensemble = pytest.importorskip("sklearn.tree")
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(400, 3))
    fitted = ensemble.DecisionTreeClassifier(random_state=0).fit(rows, rows[:, 0] * rows[:, 1] > 0)
    tree = from_sklearn(fitted)
    back = load_tree(writers()["pmml"].write(tree), "tree")
    ends = np.array([t for t in fitted.tree_.threshold if t != -2.0], dtype=np.float32)
    near = np.concatenate([ends, np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
    columns = {f"x{i}": NumericColumn(draw.choice(near, 20_000).astype(float)) for i in range(3)}
    assert (route(tree, columns) == route(back, columns)).all()
