"""Weights and gains of inner nodes follow from the leaves of an XGBoost file, or are told and can be taken out."""

import json

import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.tiers import few
from tests.ppdm_models.formats.accounting import ALL
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.side_channels import LeakKind

FOLLOW = ("plain", "exact", "lasso", "dart", "three", "sampled_hist", "weighed", "side_by_side")
FOLLOW += ("numbers_xgboost", "numbers_lasso", "second_weighs_more", "large", "hinge")
OTHERWISE = ("clipped", "continued", "numbers_absolute")
"""Where steps were limited, training went on under other settings, or leaves were computed anew as medians."""


def averages(data):
    leaks = open_model(data, "m.json").leaks
    return [leak for leak in leaks if leak.kind is LeakKind.AVERAGES]


def read(name):
    return (FOLDER / f"{name}.json").read_bytes()


def test_the_numbers_of_files_that_the_library_wrote_follow_from_their_leaves():
    for name in FOLLOW:
        assert averages(read(name)) == [], name


def test_numbers_of_another_origin_are_told_and_go_while_the_trees_stay():
    for name in OTHERWISE:
        (leak,) = averages(read(name))
        assert leak.removable, name
        clean = open_model(read(name), "m.json").opened.without(ALL)
        assert averages(clean) == [], name
        before, after = (trees_of(open_model(data, "m").model) for data in (read(name), clean))
        assert [tree.nodes for tree in before] == [tree.nodes for tree in after], name


@pytest.mark.in_both
@pytest.mark.parametrize("column", ["base_weights", "loss_changes"])
@pytest.mark.parametrize("name", ["plain", "exact", "lasso"])
def test_a_number_that_is_hidden_at_any_inner_node_is_told(name, column):
    document = json.loads(read(name))
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    inner = [
        (tree[column], node)
        for tree in trees
        for node, child in enumerate(tree["left_children"])
        if child != -1
    ]
    for numbers, node in few(inner, 6):
        was = numbers[node]
        for other in (44.0, was + 0.01, 0.0):
            numbers[node] = other
            if abs(other - was) > 1e-3:
                assert averages(json.dumps(document).encode()), (node, other)
        numbers[node] = was


def test_a_number_that_is_hidden_at_a_leaf_is_told():
    document = json.loads(read("plain"))
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["base_weights"][tree["left_children"].index(-1)] = 44.0
    assert averages(json.dumps(document).encode())
