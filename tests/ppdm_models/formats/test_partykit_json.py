"""Party objects as JSON: what is read sends records where R sends them, and predicts what R predicts."""

import csv
import json

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.rare.partykit_json import FORMAT
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

GOOD = places.DATA / "formats" / "partykit_json" / "good"
with (places.DATA / "r_predictions" / "partykit.predicted.csv").open(encoding="utf-8") as file:
    RECORDS = list(csv.DictReader(file))


def column(name):
    if name in ("age", "pay"):
        return NumericColumn(np.array([float(row[name]) for row in RECORDS]))
    values = tuple(sorted({row[name] for row in RECORDS}))
    return CategoricalColumn(np.array([values.index(row[name]) for row in RECORDS]), values)


COLUMNS = {name: column(name) for name in ("age", "pay", "job", "grade")}


def held(name="ctree"):
    return json.loads((GOOD / f"{name}.json").read_bytes())


def read(value):
    return FORMAT.open(json.dumps(value).encode(), "x.json").model


@pytest.mark.parametrize("name", ["ctree", "regression", "rpart"])
def test_records_stop_where_r_stops_them_and_are_told_what_r_tells_them(name):
    tree = read(held(name))
    stops = [tree.nodes[stop] for stop in route(tree, COLUMNS)]
    assert [node.name for node in stops] == [row[f"{name}_node"] for row in RECORDS]
    told = [row[name] for row in RECORDS]
    if tree.classes:
        assert [node.score for node in stops] == told
    else:
        np.testing.assert_allclose([node.score for node in stops], [float(each) for each in told])


@pytest.mark.parametrize("name", ["ctree", "rpart"])
def test_the_counts_are_those_of_the_records(name):
    tree = read(held(name))
    for leaf in tree.leaves:
        own = [row["ill"] for row in RECORDS if row[f"{name}_node"] == leaf.name]
        assert leaf.class_counts == tuple(own.count(each) for each in tree.classes)


def test_several_breaks_make_several_ways_and_either_end_may_be_closed():
    value = {
        "nodes": [
            {
                "id": [1],
                "split": {"varid": [2], "breaks": [1, 2], "index": [1, 2, 1], "right": [False]},
                "kids": [2, 3],
            },
            {"id": [2]},
            {"id": [3]},
        ],
        "variables": ["y", "x"],
        "means": [{"node": 2, "n": 5, "mean": 1.5}, {"node": 3, "n": 2, "mean": 2.5}],
    }
    tree = read(value)
    stops = route(tree, {"x": NumericColumn(np.array([0.0, 1.0, 1.5, 2.0, 3.0]))})
    assert [tree.nodes[stop].name for stop in stops] == ["2", "3", "3", "2", "2"]


def test_test_statistics_are_named_as_unused():
    value = held()
    value["nodes"][0]["info"] = {"p.value": [1e-9]}
    assert read(value).unused == ("the test statistics of its splits",)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda value: value["nodes"].append(value["nodes"][1]), "must have different ids"),
        (lambda value: value["nodes"].pop(), "is missing"),
        (
            lambda value: value["levels"].pop("job"),
            "'job' has another number of levels than its split",
        ),
        (lambda value: value["counts"].clear(), "a leaf has neither counts"),
        (lambda value: value.pop("counts"), "'means' is missing"),
        (lambda value: value["variables"].pop(), "split/varid"),
    ],
)
def test_what_is_no_whole_tree_is_refused(change, problem):
    value = held()
    change(value)
    with pytest.raises(TreeFormatError, match=problem):
        read(value)
