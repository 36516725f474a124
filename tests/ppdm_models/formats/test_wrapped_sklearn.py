"""scikit-learn's ensembles around trees, and bins: what is read predicts as they do, the rest is refused by name."""

import numpy as np
import pandas as pd
import pytest

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.formats.skops._table_tests import RISING
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.side_channels import LeakKind

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import (  # noqa: E402  # as above
    calibration,
    decomposition,
    ensemble,
    feature_selection,
    linear_model,
    preprocessing,
    tree,
)
from sklearn.pipeline import FeatureUnion, make_pipeline  # noqa: E402  # as above

DRAW = np.random.default_rng(6)
SIZE = 2_000
FRAME = pd.DataFrame(
    {"age": DRAW.integers(18, 90, SIZE).astype(float), "pay": DRAW.normal(3000, 900, SIZE).round(1)}
)
WORTH = FRAME.age / 40 + FRAME.pay / 2000 + DRAW.normal(0, 0.4, SIZE)
CLASSES = np.array(["low", "mid", "top"])[np.digitize(WORTH, [2.2, 3.2])]
SMALL = tree.DecisionTreeClassifier(max_depth=3)
SMALL_REGRESSOR = tree.DecisionTreeRegressor(max_depth=3)


def columns(frame):
    return {name: NumericColumn(frame[name].to_numpy(dtype=float)) for name in frame}


@pytest.mark.parametrize("target", [CLASSES, CLASSES == "top"], ids=["three", "two"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"max_samples": 0.5, "bootstrap": False}, {"warm_start": True}],
    ids=["bootstrap", "halves", "warm"],
)
def test_bagging_predicts_as_it_does(settings, target):
    estimator = ensemble.BaggingClassifier(SMALL, 12, random_state=0, **settings).fit(FRAME, target)
    model = open_fitted(estimator, target="worth").model
    said = predict(model, columns(FRAME))
    np.testing.assert_allclose(said, estimator.predict_proba(FRAME), rtol=1e-9, atol=1e-12)
    assert labels(model, said) == [str(label).lower() for label in estimator.predict(FRAME)]
    assert model.sampling.resampled


def test_bagging_of_numbers_predicts_as_it_does():
    estimator = ensemble.BaggingRegressor(SMALL_REGRESSOR, 7, random_state=0).fit(FRAME, WORTH)
    said = predict(open_fitted(estimator).model, columns(FRAME))
    np.testing.assert_allclose(said[:, 0], estimator.predict(FRAME), rtol=1e-9)


VOTERS = [
    ("one", tree.DecisionTreeClassifier(max_depth=2)),
    ("few", ensemble.RandomForestClassifier(5, max_depth=3, random_state=1)),
    ("other", tree.ExtraTreeClassifier(max_depth=4, random_state=2)),
]


@pytest.mark.parametrize("weights", [None, [2, 1, 0.5]], ids=["equal", "weighted"])
@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("target", [CLASSES, CLASSES == "top"], ids=["three", "two"])
def test_votes_are_those_of_its_trees_and_forests(target, voting, weights):
    estimator = ensemble.VotingClassifier(VOTERS, voting=voting, weights=weights)
    model = open_fitted(estimator.fit(FRAME, target), target="worth").model
    said = predict(model, columns(FRAME))
    stops = np.stack([route(each, columns(FRAME)) for each in model.trees])
    np.testing.assert_array_equal(predict(model, columns(FRAME), stops), said)
    if voting == "soft":
        np.testing.assert_allclose(said, estimator.predict_proba(FRAME), rtol=1e-9, atol=1e-12)
    assert labels(model, said) == [str(label).lower() for label in estimator.predict(FRAME)]
    assert model.sampling.resampled
    assert sum(1 for _ in model.trees) == 7


def test_votes_on_all_records_are_of_no_sample():
    forest = ensemble.RandomForestClassifier(3, max_depth=2, bootstrap=False, max_features=1)
    estimator = ensemble.VotingClassifier([VOTERS[0], ("few", forest)])
    assert open_fitted(estimator.fit(FRAME, CLASSES)).model.sampling.resampled is False


def test_numbers_of_several_are_averaged_as_they_are():
    voters = [("one", SMALL_REGRESSOR), ("few", ensemble.RandomForestRegressor(4, max_depth=3))]
    estimator = ensemble.VotingRegressor(voters, weights=[1, 3]).fit(FRAME, WORTH)
    said = predict(open_fitted(estimator).model, columns(FRAME))
    np.testing.assert_allclose(said[:, 0], estimator.predict(FRAME), rtol=1e-9)


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("target", [CLASSES, CLASSES == "top"], ids=["three", "two"])
def test_boosting_by_weights_votes_as_it_does(target, depth):
    inner = tree.DecisionTreeClassifier(max_depth=depth)
    estimator = ensemble.AdaBoostClassifier(inner, n_estimators=15, random_state=0)
    model = open_fitted(estimator.fit(FRAME, target)).model
    said = labels(model, predict(model, columns(FRAME)))
    assert said == [str(label).lower() for label in estimator.predict(FRAME)]


def test_boosting_by_weights_of_numbers_takes_the_middle_as_it_does():
    estimator = ensemble.AdaBoostRegressor(SMALL_REGRESSOR, n_estimators=9, random_state=0)
    said = predict(open_fitted(estimator.fit(FRAME, WORTH)).model, columns(FRAME))
    np.testing.assert_allclose(said[:, 0], estimator.predict(FRAME), rtol=1e-9)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "kmeans"])
def test_bins_are_thresholds_on_the_column(strategy):
    bins = preprocessing.KBinsDiscretizer(7, encode="ordinal", strategy=strategy, subsample=None)
    estimator = make_pipeline(bins, tree.DecisionTreeClassifier(max_depth=8)).fit(FRAME, CLASSES)
    file = open_fitted(estimator)
    ends = np.concatenate([edges[1:-1] for edges in bins.fit(FRAME).bin_edges_])
    at_ends = pd.DataFrame({"age": ends, "pay": ends})
    for frame in (FRAME, at_ends, np.nextafter(at_ends, -np.inf)):
        said = predict(file.model, columns(frame))
        np.testing.assert_allclose(said, estimator.predict_proba(frame), rtol=1e-9, atol=1e-12)
    assert LeakKind.MEDIANS in [leak.kind for leak in file.leaks]
    # Cuts inside a bin were never compared: what an audit knows of splits would prove too much.
    assert "KBinsDiscretizer" in file.model.learner.unmodelled
    assert file.model.learner.stopping is None


@pytest.mark.parametrize("name", RISING)
@pytest.mark.parametrize("form", ["memory", "skops"])
def test_functions_that_keep_the_order_of_numbers_are_thresholds_on_the_column(name, form):
    frame = (FRAME / 100).clip(lower=0.01)
    step = preprocessing.FunctionTransformer(
        getattr(np, name), inverse_func=np.expm1, check_inverse=False
    )
    pipeline = make_pipeline(step, SMALL).fit(frame, CLASSES)
    if form == "memory":
        model = open_fitted(pipeline).model
    else:
        model = load_model(pytest.importorskip("skops.io").dumps(pipeline), "model.skops")
    said = predict(model, columns(frame))
    np.testing.assert_allclose(said, pipeline.predict_proba(frame), rtol=1e-9)


def test_what_the_rounds_of_an_ensemble_keep_is_told():
    ada = open_fitted(ensemble.AdaBoostClassifier(SMALL, n_estimators=3).fit(FRAME, CLASSES))
    told = [leak.where for leak in ada.leaks if leak.kind is LeakKind.TARGET_STATISTICS]
    assert told == ["/estimator_errors_", "/estimator_weights_"]
    bagging = ensemble.BaggingClassifier(SMALL, 40, oob_score=True).fit(FRAME, CLASSES)
    kinds = {leak.where: leak.kind for leak in open_fitted(bagging).leaks}
    assert kinds["/_seeds"] is LeakKind.REPLAY
    assert kinds["/oob_decision_function_"] is LeakKind.PER_RECORD


def test_a_seed_says_how_to_withhold_it_in_one_line():
    steps = make_pipeline(
        preprocessing.StandardScaler(), tree.DecisionTreeClassifier(random_state=0)
    )
    for estimator, line in (
        (tree.DecisionTreeClassifier(random_state=0), "model.random_state = None"),
        (steps, "model[-1].random_state = None"),
    ):
        model = estimator.fit(FRAME, CLASSES)
        (leak,) = [leak for leak in open_fitted(model).leaks if leak.kind is LeakKind.REPLAY]
        assert leak.what.endswith(f"before you publish: {line}")
        exec(line, {"model": model})
        assert not [leak for leak in open_fitted(model).leaks if leak.kind is LeakKind.REPLAY]


LINEAR = linear_model.LogisticRegression()
CALIBRATED = calibration.CalibratedClassifierCV(SMALL, cv=2)
VOTING = ensemble.VotingClassifier([("tree", SMALL), ("line", LINEAR)])
FOLDED = make_pipeline(preprocessing.TargetEncoder(cv=2), SMALL)
BINS = preprocessing.KBinsDiscretizer(3, encode="onehot-dense", subsample=None)


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (
            CALIBRATED,
            "CalibratedClassifierCV is not supported; its calibrators are fitted on the target",
        ),
        (
            VOTING,
            "one of its estimators is a LogisticRegression; use DecisionTree, ExtraTree, RandomForest",
        ),
        (FOLDED, "step 'targetencoder': a TargetEncoder is fitted on the target and in folds"),
        (make_pipeline(decomposition.PCA(2), SMALL), "a PCA combines several columns"),
        (
            make_pipeline(BINS, SMALL),
            "encode='onehot-dense' is not supported; set encode='ordinal'",
        ),
        (
            make_pipeline(preprocessing.QuantileTransformer(n_quantiles=10), SMALL),
            "remove the step, which does not",
        ),
        (
            make_pipeline(feature_selection.SelectKBest(k=1), SMALL),
            "a SelectKBest chooses columns by their records; fit the trees without it",
        ),
        (
            make_pipeline(preprocessing.FunctionTransformer(np.abs), SMALL),
            "a FunctionTransformer may compute anything; add its columns to the table",
        ),
        (
            make_pipeline(FeatureUnion([("all", preprocessing.StandardScaler())]), SMALL),
            "a FeatureUnion puts columns of several steps side by side; use a ColumnTransformer",
        ),
        (
            make_pipeline(preprocessing.Binarizer(), SMALL),
            "cuts columns at one number, which trees also do",
        ),
        (ensemble.BaggingClassifier(SMALL, 3, max_features=0.5), "set max_features=1.0"),
        (
            ensemble.BaggingClassifier(LINEAR, 3),
            "contains a LogisticRegression, which is not a tree",
        ),
        (
            ensemble.AdaBoostClassifier(LINEAR, n_estimators=2),
            "give a AdaBoostClassifier of decision",
        ),
    ],
)
def test_what_is_not_read_is_named_with_what_to_do(estimator, told):
    with pytest.raises(TreeFormatError) as caught:
        open_fitted(estimator.fit(FRAME, CLASSES == "top"))
    assert told in str(caught.value)
