"""Pipelines in memory that end in XGBoost, LightGBM or CatBoost: models of the columns that go into the first step."""

import numpy as np
import pandas as pd
import pytest

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.side_channels import LeakKind

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import impute, preprocessing  # noqa: E402  # as above
from sklearn.compose import make_column_transformer  # noqa: E402  # as above
from sklearn.decomposition import PCA  # noqa: E402  # as above
from sklearn.pipeline import make_pipeline  # noqa: E402  # as above

DRAW = np.random.default_rng(8)
SIZE = 3_000
TABLE = pd.DataFrame(
    {
        "age": DRAW.integers(18, 90, SIZE).astype(float),
        "pay": DRAW.normal(3000, 900, SIZE).round(1),
        "job": DRAW.choice(["nurse", "cook", "clerk", "none"], SIZE),
        "floor": DRAW.integers(0, 5, SIZE),
    }
)
WORTH = TABLE.age / 40 + (TABLE.job == "nurse") + TABLE.floor + DRAW.normal(0, 0.4, SIZE)
CODES = np.digitize(WORTH, [2.5, 4])
GAPS = TABLE.mask(DRAW.random(TABLE.shape) < 0.05)


def ends(task):
    """Return an estimator of each tool for a task."""
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")
    catboost = pytest.importorskip("catboost", reason="CatBoost is not installed")
    quiet = {"verbose": False, "allow_writing_files": False}
    return (
        getattr(xgboost, f"XGB{task}")(n_estimators=5, max_depth=4),
        getattr(lightgbm, f"LGBM{task}")(n_estimators=5, num_leaves=12, verbose=-1),
        getattr(catboost, f"CatBoost{task}")(iterations=5, depth=4, **quiet),
    )


def steps():
    """Return steps that encode, impute, scale and bin the columns, in another order than the table's."""
    texts = make_pipeline(
        impute.SimpleImputer(strategy="most_frequent"),
        preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    )
    numbers = make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler())
    bins = preprocessing.KBinsDiscretizer(6, encode="ordinal", subsample=None)
    binned = make_pipeline(impute.SimpleImputer(strategy="median"), bins)
    return make_column_transformer((texts, ["job"]), (numbers, ["floor", "age"]), (binned, ["pay"]))


def held(model, frame):
    found = {}
    for feature in model.features:
        if feature.numeric:
            found[feature.name] = NumericColumn(frame[feature.name].to_numpy(dtype=float))
        else:
            codes, names = pd.factorize(frame[feature.name], sort=True)
            found[feature.name] = CategoricalColumn(codes, tuple(map(str, names)))
    return found


@pytest.mark.parametrize("place", range(3), ids=["xgboost", "lightgbm", "catboost"])
@pytest.mark.parametrize("frame", [TABLE, GAPS], ids=["complete", "gaps"])
@pytest.mark.parametrize("task", ["two", "three", "number"])
def test_a_pipeline_predicts_as_it_does(task, frame, place):
    target = {"two": CODES.clip(0, 1), "three": CODES, "number": WORTH}[task]
    end = ends("Regressor" if task == "number" else "Classifier")[place]
    estimator = make_pipeline(steps(), end).fit(frame, target)
    model = open_fitted(estimator, target="worth", names=list(frame.columns)).model
    assert [feature.name for feature in model.features] == list(frame.columns)
    assert model.growth is not None
    said = predict(model, held(model, frame))
    if task == "number":
        np.testing.assert_allclose(said[:, 0], estimator.predict(frame), rtol=1e-4, atol=1e-5)
        return
    np.testing.assert_allclose(said, estimator.predict_proba(frame), rtol=1e-5, atol=1e-6)
    assert labels(model, said) == [str(code) for code in np.ravel(estimator.predict(frame))]


@pytest.mark.parametrize("place", range(3), ids=["xgboost", "lightgbm", "catboost"])
def test_missing_values_reach_the_tool_through_a_scaler(place):
    names = ["age", "pay"]
    end = ends("Classifier")[place]
    estimator = make_pipeline(preprocessing.StandardScaler(), end).fit(GAPS[names], CODES)
    model = open_fitted(estimator, names=names).model
    said = predict(model, held(model, GAPS))
    np.testing.assert_allclose(said, estimator.predict_proba(GAPS[names]), rtol=1e-5, atol=1e-6)


def test_what_the_steps_keep_is_told_beside_what_the_tool_does():
    estimator = make_pipeline(steps(), ends("Classifier")[0]).fit(TABLE, CODES)
    kinds = [leak.kind for leak in open_fitted(estimator).leaks]
    assert {LeakKind.CATEGORIES, LeakKind.MEDIANS, LeakKind.AVERAGES} <= set(kinds)


@pytest.mark.parametrize("place", range(2), ids=["xgboost", "lightgbm"])
def test_all_that_the_tool_saves_is_accounted_for_under_the_new_names(place):
    estimator = make_pipeline(steps(), ends("Classifier")[place]).fit(TABLE, CODES)
    opened = open_fitted(estimator)
    assert not [leak for leak in opened.leaks if leak.kind is LeakKind.UNKNOWN]
    assert any("A pickle of the estimator contains more" in note for note in opened.model.notes)


def test_steps_that_leave_the_table_as_it_is_are_none():
    end = ends("Classifier")[0]
    estimator = make_pipeline("passthrough", end).fit(TABLE[["age", "pay"]], CODES)
    assert [feature.name for feature in open_fitted(estimator).model.features] == ["age", "pay"]


def test_a_step_that_cannot_be_followed_is_named_with_what_to_do():
    estimator = make_pipeline(PCA(2), ends("Classifier")[0]).fit(TABLE[["age", "pay"]], CODES)
    with pytest.raises(
        TreeFormatError, match=r"step 'pca': a PCA combines several columns .* remove it"
    ):
        open_fitted(estimator)


def test_nothing_unknown_is_in_a_tool_at_the_end_of_a_pipeline():
    names = ["age", "pay"]
    for end in ends("Classifier"):
        estimator = make_pipeline(preprocessing.StandardScaler(), end).fit(TABLE[names], CODES)
        leaks = open_fitted(estimator, names=names).leaks
        assert [leak for leak in leaks if leak.kind is LeakKind.UNKNOWN] == [], end


def test_the_leaves_of_a_tool_behind_an_encoder_are_turned_back_into_counts():
    import treewarden as tw

    names, late = ["job", "floor"], (WORTH > 3).astype(int)
    encode = preprocessing.OrdinalEncoder
    for end in ends("Classifier"):
        estimator = make_pipeline(encode(), end).fit(TABLE[names], late)
        result = tw.audit(
            estimator, TABLE[names].assign(late=late), sensitive="late", worlds_budget=1
        )
        certain = result.findings.set_index("clause").loc["certain"]
        assert "could not be combined" not in certain["message"], (end, certain["message"])
