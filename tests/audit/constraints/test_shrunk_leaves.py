"""People who are alone in a leaf of a really trained model, whose shrinkage the file says, are told by it."""

import json
from dataclasses import replace

import pytest

from tests.kit import places
from tests.kit.small_audits import audit_model
from treewarden.audit.measures import MeasureCall
from treewarden.audit.reading import Interval
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats.xgboost._growth import shrinkage_in
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.ensemble import Shrinkage

FOLDER = places.DATA / "shrunk"
"""Made by tests/data/make_shrunk_models.py."""
EXPOSED = MeasureCall("exposed_values")
SETTINGS = {"eta": "0.3", "lambda": "2", "alpha": "0", "max_delta_step": "0"}


def model(name, *edits):
    data = (FOLDER / name).read_bytes()
    for old, new in edits:
        assert old in data
        data = data.replace(old, new)
    return load_model(data, name)


def exposed(ensemble):
    return (
        audit_model(ensemble, read_table(FOLDER / "table.csv"), "target", [EXPOSED])
        .full.readings[EXPOSED]
        .reading
    )


@pytest.mark.parametrize("name", ["snapshot.ubj", "lightgbm.txt", "catboost.json"])
def test_who_is_alone_in_a_leaf_is_told_where_the_file_says_the_shrinkage(name):
    reading = exposed(model(name))
    assert reading.low == reading.high > 0


def test_without_the_settings_nobody_is_told_for_sure():
    assert exposed(model("model.ubj")) == Interval(0, exposed(model("snapshot.ubj")).high)


@pytest.mark.parametrize("name", ["snapshot.ubj", "lightgbm.txt", "catboost.json"])
def test_another_ridge_tells_nobody(name):
    right = model(name)
    wrong = replace(right, shrinkage=replace(right.shrinkage, ridge=right.shrinkage.ridge + 1))
    assert exposed(wrong).low == 0


def test_the_number_that_lightgbm_starts_from_is_the_mean_of_the_targets():
    right = model("lightgbm.txt")
    without = replace(right, shrinkage=replace(right.shrinkage, starts_inside=False))
    assert exposed(without).low < exposed(right).low
    hidden = [replace(node, records=None) for node in right.members[0].model.nodes]
    first = replace(right.members[0].model, nodes=tuple(hidden))
    blind = replace(right, members=(replace(right.members[0], model=first), *right.members[1:]))
    assert exposed(blind).low == exposed(without).low


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("lightgbm.txt", b"[lambda_l1: 0]", b"[lambda_l1: 1]"),
        ("lightgbm.txt", b"[boosting: gbdt]", b"[boosting: dart]"),
        ("lightgbm.txt", b"[learning_rate: 0.2]", b"[learning_rate: fast]"),
        ("lightgbm.txt", b"[learning_rate: 0.2]", b"[learning_rate: 0]"),
        ("lightgbm.txt", b"[linear_tree: 0]", b""),
        ("catboost.json", b'"leaf_estimation_iterations":1', b'"leaf_estimation_iterations":2'),
        ("catboost.json", b'"type":"RMSE"', b'"type":"Huber"'),
    ],
)
def test_leaves_that_are_made_otherwise_have_no_known_shrinkage(name, old, new):
    assert model(name, (old, new)).shrinkage is None


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, Shrinkage(0.3, 2.0)),
        ({"alpha": "1"}, None),
        ({"max_delta_step": "0.7"}, None),
        ({"eta": "nan"}, None),
        ({"eta": True}, None),
        ({"lambda": "-1"}, None),
    ],
)
def test_the_settings_of_a_snapshot_are_all_needed(changed, found):
    settings = {"tree_train_param": {**SETTINGS, **changed}}
    document = {"Config": {"learner": {"gradient_booster": settings}}}
    assert shrinkage_in(document, {}) == found


def test_older_wrappers_keep_the_settings_as_a_text():
    said = {"learning_rate": 0.1, "reg_lambda": 1, "reg_alpha": 0, "max_delta_step": 0}
    text = json.dumps(said)
    assert shrinkage_in({}, {"attributes": {"scikit_learn": text}}) == Shrinkage(0.1, 1.0)
    assert shrinkage_in({}, {"attributes": {"scikit_learn": text[:-1]}}) is None
