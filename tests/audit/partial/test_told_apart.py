"""The values of a column that the tests of a tree tell apart."""

import numpy as np

from treewarden.audit.partial.secret_values import distinguished_values
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree


def places(feature, column, *tests):
    nodes = [Node(0, "root", None, tuple(range(1, len(tests) + 1)), Always(), "0", None, None)]
    nodes += [Node(at, str(at), 0, (), test, "0", None, None) for at, test in enumerate(tests, 1)]
    tree = Tree(tuple(nodes), (feature,), "y", ("0", "1"))
    found = distinguished_values([tree], {feature.name: column})[feature.name]
    return np.unique(found, return_inverse=True)[1].tolist()


def test_an_end_belongs_to_the_side_that_its_tests_put_it_on():
    numbers = NumericColumn(np.array([9.0, 10.0, 11.0, np.nan]))
    feature = Feature("s", numeric=True)
    up_to = NumericTest("s", high=10.0, high_closed=True), NumericTest("s", low=10.0)
    assert places(feature, numbers, *up_to) == [0, 0, 1, 2]
    below = NumericTest("s", high=10.0), NumericTest("s", low=10.0, low_closed=True)
    assert places(feature, numbers, *below) == [0, 1, 1, 2]
    assert places(feature, numbers, *up_to, *below) == [0, 1, 2, 3]


def test_categories_that_no_test_parts_are_one():
    column = CategoricalColumn(np.array([0, 1, 2, -1]), ("a", "b", "c"))
    feature = Feature("s", numeric=False, values=("a", "b", "c"))
    a, _, c, missing = places(feature, column, CategoryTest("s", ("a", "b")))
    assert len({a, c, missing}) == 3
    assert places(feature, column, CategoryTest("s", ("a", "b")))[1] == a
