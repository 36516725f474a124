"""Fitted models of XGBoost, LightGBM and CatBoost in memory: read through what the tool itself saves."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import NumericColumn

DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(500, 3)).round(2).astype(np.float32)
X[DRAW.random(X.shape) < 0.08] = np.nan
WORTH = np.nan_to_num(X[:, 0]) + (np.nan_to_num(X[:, 1]) > 0.3) + DRAW.normal(0, 0.3, 500)
TEXTS = np.array(["low", "mid", "top"])[np.digitize(WORTH, [0, 1])]
CODES = np.digitize(WORTH, [0, 1])
NAMES = ["age", "net pay", "floor"]


def boosted(tool, kind, **settings):
    module = pytest.importorskip(tool, reason=f"{tool} is not installed")
    return getattr(module, kind)(**settings)


MAKERS = {
    "xgboost": (lambda: boosted("xgboost", "XGBClassifier", n_estimators=4, max_depth=3), CODES),
    "xgboost, two": (
        lambda: boosted("xgboost", "XGBClassifier", n_estimators=4, max_depth=3),
        CODES.clip(0, 1),
    ),
    "xgboost, number": (
        lambda: boosted("xgboost", "XGBRegressor", n_estimators=4, max_depth=3),
        WORTH,
    ),
    "lightgbm": (
        lambda: boosted("lightgbm", "LGBMClassifier", n_estimators=4, num_leaves=6, verbose=-1),
        TEXTS,
    ),
    "lightgbm, two": (
        lambda: boosted("lightgbm", "LGBMClassifier", n_estimators=4, num_leaves=6, verbose=-1),
        TEXTS == "low",
    ),
    "lightgbm, number": (
        lambda: boosted("lightgbm", "LGBMRegressor", n_estimators=4, num_leaves=6, verbose=-1),
        WORTH,
    ),
    "catboost": (
        lambda: boosted("catboost", "CatBoostClassifier", iterations=4, depth=3, **QUIET),
        TEXTS,
    ),
    "catboost, number": (
        lambda: boosted("catboost", "CatBoostRegressor", iterations=4, depth=3, **QUIET),
        WORTH,
    ),
}
QUIET = {"verbose": False, "allow_writing_files": False}


def held(model, records):
    named = zip((feature.name for feature in model.features), records.T, strict=True)
    return {name: NumericColumn(column.astype(float)) for name, column in named}


@pytest.mark.parametrize("name", MAKERS)
def test_a_boosted_model_predicts_as_it_does(name):
    make, target = MAKERS[name]
    estimator = make().fit(X, target)
    model = open_fitted(estimator, target="worth", names=NAMES).model
    said = predict(model, held(model, X))
    if model.classes:
        np.testing.assert_allclose(said, estimator.predict_proba(X), rtol=1e-5, atol=1e-6)
        expected = [str(label).lower() for label in np.ravel(estimator.predict(X))]
        assert np.mean(np.array(labels(model, said)) == expected) == 1.0
    else:
        np.testing.assert_allclose(said[:, 0], estimator.predict(X), rtol=1e-4, atol=1e-5)
    assert model.target == "worth"
    assert [feature.name.replace("_", " ") for feature in model.features] == NAMES


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_rewritten_is_of_the_tools_own_format_and_says_the_same(name):
    make, target = MAKERS[name]
    file = open_fitted(make().fit(X, target), target="worth", names=NAMES)
    if not isinstance(file.opened, Rewritable):
        assert name.startswith("catboost")
        return
    again = load_model(file.opened.rewrite(file.model), "again")
    assert again.format == file.model.format
    np.testing.assert_array_equal(
        predict(again, held(again, X)), predict(file.model, held(again, X))
    )


@pytest.mark.parametrize("tool", ["xgboost", "lightgbm"])
def test_a_booster_is_read_as_its_wrapper_is(tool):
    make, target = MAKERS[f"{tool}, number"]
    estimator = make().fit(X, target)
    booster = estimator.get_booster() if tool == "xgboost" else estimator.booster_
    wrapped, bare = (open_fitted(each, names=NAMES).model for each in (estimator, booster))
    assert [tree.nodes for tree in wrapped.trees] == [tree.nodes for tree in bare.trees]


@pytest.mark.parametrize("name", MAKERS)
def test_a_boosted_model_that_is_not_fitted_is_told_to_call_fit(name):
    with pytest.raises(TreeFormatError, match="call fit first"):
        open_fitted(MAKERS[name][0]())


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_as_many_names_as_features_are_wanted(name):
    make, target = MAKERS[name]
    with pytest.raises(TreeFormatError, match="trained on 3 columns, but the table has 2"):
        open_fitted(make().fit(X, target), names=NAMES[:2])


def test_no_file_of_catboosts_is_left():
    make, target = MAKERS["catboost"]
    estimator = make().fit(X, target)
    before = set(Path(tempfile.gettempdir()).glob("treewarden-*"))
    open_fitted(estimator)
    assert set(Path(tempfile.gettempdir()).glob("treewarden-*")) == before
