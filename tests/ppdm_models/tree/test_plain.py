"""Trees of plain splits as columns: the same as node by node, whatever is asked of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.tables.predict import leaf_scores, predict
from treewarden.ppdm_models.tables.routing import branching, route
from treewarden.ppdm_models.tree import fingerprint
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Member,
    Silence,
    SilentMembers,
)
from treewarden.ppdm_models.tree.fingerprint import fingerprints
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.plain_splits import plain_of
from treewarden.ppdm_models.tree.predicate import AllOf, Always, MissingTest, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Tree,
)

NAMES = ("x", 'the "y"')
CLASSES = ("no", "yes")
FEATURES = tuple(Feature(name, True, single=name == NAMES[1]) for name in NAMES)
ENDS = [-1.0, 0.0, 0.1, float(np.float32(0.1)), 0.1000001, 1.0, 2.0, 3e38, 3.5e38]
SPLITS = st.lists(
    st.tuples(
        st.integers(0, 1), st.sampled_from(ENDS), st.booleans(), st.booleans(), st.integers(0, 1)
    ),
    max_size=12,
)


def grown(splits):
    """Return a tree in which each split parts the oldest leaf, or the latest."""
    said, children, leaves = [(None, Always())], {}, [0]
    for place, end, is_closed, upper_first, latest in splits:
        parent = leaves.pop(-latest)
        name = NAMES[place]
        tests = [
            NumericTest(name, high=end, high_closed=is_closed),
            NumericTest(name, low=end, low_closed=not is_closed),
        ]
        children[parent] = (len(said), len(said) + 1)
        leaves += children[parent]
        said += [(parent, test) for test in (tests[::-1] if upper_first else tests)]
    nodes = tuple(
        Node(
            index,
            str(index),
            parent,
            children.get(index, ()),
            test,
            score=CLASSES[index % 2],
            records=float(index + 3),
            class_counts=(float(index % 3 + 1), float(index + 2 - index % 3)),
        )
        for index, (parent, test) in enumerate(said)
    )
    return Tree(nodes, FEATURES, "z", CLASSES, quality=Quality.EXACT)


def in_columns(tree):
    """Return the tree with its nodes in columns."""
    plain = plain_of(tree)
    table = NodeTable(
        parents=plain.parents,
        names=[node.name for node in tree.nodes],
        tests=plain.cuts,
        scores=[node.score for node in tree.nodes],
        records=np.array([node.records for node in tree.nodes]),
        class_counts=np.array([node.class_counts for node in tree.nodes]),
    )
    return Tree(table, tree.features, tree.target, tree.classes, quality=tree.quality)


def slowly(model):
    """Return the fingerprints by the general way, test by test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprint, "paths_in_text", lambda *asked: None)
        return fingerprints(model, "t")


def forest(*trees, **changes):
    said = {"combination": Combination.AVERAGE, "features": FEATURES, "target": "z"}
    members = tuple(Member(tree, weight=0.5 + place) for place, tree in enumerate(trees))
    return Ensemble(members, **(said | {"classes": CLASSES} | changes))


@given(SPLITS, SPLITS)
def test_fingerprints_of_intervals_are_those_of_tests(one, other):
    model = forest(grown(one), grown(other), grown(one))
    assert fingerprints(model, "t") == slowly(model)
    assert fingerprints(forest(*map(in_columns, model.trees)), "t") == slowly(model)


def test_a_path_that_nobody_can_take_is_told_by_its_tests():
    tree = grown([(0, 0.0, True, False, 0), (0, 1.0, True, False, 1), (0, 0.5, True, False, 0)])
    assert fingerprints(tree, "t") == slowly(tree)
    assert len(set(fingerprints(tree, "t")[0])) == len(tree.leaves) + 1


@pytest.mark.parametrize(
    "test", [MissingTest("x"), NumericTest("x", 0.0, 1.0), AllOf((NumericTest("x", high=0.0),))]
)
def test_other_tests_are_not_plain(test):
    tree = grown([(0, 0.0, True, False, 0)])
    other = Node(1, "1", 0, (), test, "no")
    assert plain_of(tree) is not None
    assert plain_of(Tree((tree.nodes[0], other, tree.nodes[2]), FEATURES, "z", CLASSES)) is None


values = st.lists(st.tuples(*[st.sampled_from([*ENDS, float("nan"), float("-inf")])] * 2))


@given(SPLITS, values)
def test_columns_lead_to_the_leaves_that_nodes_lead_to(splits, rows):
    tree = grown(splits)
    table = np.array(rows).reshape(-1, 2)
    columns = {name: NumericColumn(table[:, i]) for i, name in enumerate(NAMES)}
    same = in_columns(tree)
    assert branching(same) is not None
    assert np.array_equal(route(same, columns), route(tree, columns))
    assert same.used_features() == tree.used_features()


@given(SPLITS, st.booleans())
def test_columns_say_what_nodes_say(splits, as_votes):
    tree = grown(splits)
    said = leaf_scores(in_columns(tree), as_votes=as_votes)
    assert np.array_equal(said, leaf_scores(tree, as_votes=as_votes), equal_nan=True)


@pytest.mark.parametrize("combination", [Combination.AVERAGE, Combination.WEIGHTED_SUM])
@pytest.mark.parametrize("silence", list(Silence))
def test_what_is_predicted_does_not_depend_on_where_records_are_known_to_stop(combination, silence):
    trees = [grown([(0, end, True, False, 0), (1, 0.1, True, False, 0)]) for end in (0.0, 1.0)]
    model = forest(*trees, combination=combination, silence=SilentMembers(silence))
    rows = np.array([[-1.0, 0.0], [0.5, np.nan], [np.nan, 1.0], [2.0, 0.05], [2.0, 7.0]])
    columns = {name: NumericColumn(rows[:, i]) for i, name in enumerate(NAMES)}
    stops = np.array([route(tree, columns) for tree in trees])
    found = predict(model, columns)
    assert not np.isnan(found[0]).any()
    assert np.array_equal(predict(model, columns, stops), found, equal_nan=True)
