"""Boosted trees of R's gbm: what is read predicts what R predicts, values missing and levels never seen too."""

import csv
import json

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.rare.gbm_json import FORMAT
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.side_channels import LeakKind

GOOD = places.DATA / "formats" / "gbm_json" / "good"
with (places.DATA / "r_predictions" / "gbm.predicted.csv").open(encoding="utf-8") as file:
    RECORDS = list(csv.DictReader(file))


def column(name):
    if name in ("age", "pay"):
        return NumericColumn(np.array([float(row[name] or "nan") for row in RECORDS]))
    values = tuple(sorted({row[name] for row in RECORDS} - {""}))
    codes = np.array([values.index(row[name]) if row[name] else -1 for row in RECORDS])
    return CategoricalColumn(codes=codes, categories=values)


COLUMNS = {name: column(name) for name in ("age", "pay", "job", "grade")}


def said_by_r(name):
    return np.array([float(row[name]) for row in RECORDS])


def held(name="bernoulli"):
    return json.loads((GOOD / f"{name}.json").read_bytes())


def read(value):
    return FORMAT.open(json.dumps(value).encode(), "x.json").model


@pytest.mark.parametrize("name", ["bernoulli", "adaboost", "gaussian", "poisson"])
def test_the_model_predicts_what_r_predicts(name):
    scores = predict(read(held(name)), COLUMNS)
    own = scores[:, -1]
    np.testing.assert_allclose(own, said_by_r(name), rtol=1e-9)


def test_many_classes_have_a_tree_each_in_turn():
    model = read(held("multinomial"))
    assert model.classes == ("A", "B", "C")
    expected = np.stack([said_by_r(f"multinomial_{name}") for name in model.classes], axis=1)
    np.testing.assert_allclose(predict(model, COLUMNS), expected, rtol=1e-9)


def test_the_weights_of_nodes_count_records_and_a_missing_child_that_repeats_its_parent_none():
    model = read(held())
    assert model.sampling.resampled is False
    assert {str(tree.quality) for tree in model.trees} == {"exact"}
    assert {tree.root.records for tree in model.trees} == {160.0}
    assert any(leaf.records == 0 for tree in model.trees for leaf in tree.leaves)
    assert read(held("poisson")).sampling.resampled is True


def test_quantiles_of_variables_are_extremes_of_records():
    value = held("gaussian")
    value["var.levels"][0] = [18.1, 50.0, 89.7]
    leaks = list(FORMAT.open(json.dumps(value).encode(), "x").leaks)
    assert LeakKind.EXTREMES in {leak.kind for leak in leaks}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"c.splits": None}, "a node splits by levels, but c.splits is not"),
        ({"c.splits": [[1]] * 20}, "the split has 1 levels, but 'job' has 4"),
        ({"var.levels": [{}, {}, {}, {}]}, "the 4 levels of 'job' are not in var.levels"),
        ({"num.classes": [3]}, "4 trees cannot be divided among 3 outputs and 2 classes"),
        ({"trees": []}, "0 trees"),
        ({"var.names": ["age", "age", "job", "grade"]}, "age"),
    ],
)
def test_what_is_no_whole_model_is_refused(changes, problem):
    with pytest.raises(TreeFormatError, match=problem):
        read({**held(), **changes})


def test_trees_without_names_are_refused_by_what_is_lacking():
    with pytest.raises(TreeFormatError, match="write trees, var.names, var.type"):
        read(held()["trees"])


def test_a_tree_without_nodes_is_refused():
    data = {**held("gaussian"), "trees": [[]]}
    with pytest.raises(TreeFormatError, match="a tree has no nodes"):
        FORMAT.open(json.dumps(data).encode(), "gbm.json")
