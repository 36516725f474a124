"""Fitted scikit-learn estimators in memory: the model that is made of one predicts what the estimator predicts."""

import itertools

import numpy as np
import pandas as pd
import pytest

from tests.kit.tiers import cases
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import MissingTest
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality, Tree

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import ensemble, impute, model_selection, preprocessing, tree  # noqa: E402  # as above
from sklearn.compose import make_column_transformer  # noqa: E402  # as above
from sklearn.decomposition import PCA  # noqa: E402  # as above
from sklearn.pipeline import make_pipeline  # noqa: E402  # as above

RANDOM = np.random.default_rng(5)
SIZE = 600
FRAME = pd.DataFrame(
    {
        "age": RANDOM.integers(18, 90, SIZE).astype(float),
        "pay": RANDOM.normal(3000, 900, SIZE).round(1),
        "job": RANDOM.choice(["nurse", "cook", "clerk", "none"], SIZE),
        "town": RANDOM.choice(["a b", "c,d", 'e"f'], SIZE),
        "floor": RANDOM.integers(0, 5, SIZE),
    }
)
WORTH = (
    FRAME.age / 40 + (FRAME.job == "nurse") + FRAME.floor.isin([1, 3]) + RANDOM.normal(0, 0.4, SIZE)
)
CLASSES = np.array(["low", "mid", "top"])[np.digitize(WORTH, [1.6, 2.6])]
BINARY = WORTH.to_numpy() > 2
NUMBER = WORTH.to_numpy()
GAPS = FRAME.mask(RANDOM.random(FRAME.shape) < 0.1)
NUMERIC = ["age", "pay", "floor"]
TREE = tree.DecisionTreeClassifier(max_depth=6, random_state=0)


def columns(model, frame):
    found = {}
    for feature in model.features:
        cells = frame[feature.name]
        if feature.numeric:
            found[feature.name] = NumericColumn(cells.to_numpy(dtype=float))
        else:
            codes, names = pd.factorize(cells, sort=True)
            found[feature.name] = CategoricalColumn(codes, tuple(map(str, names)))
    return found


def assert_same(estimator, frame):
    model = open_fitted(estimator, target="worth", names=list(frame.columns)).model
    said = predict(model, columns(model, frame))
    if model.classes:
        np.testing.assert_allclose(said, estimator.predict_proba(frame), rtol=1e-9, atol=1e-12)
        expected = [str(label).lower() for label in estimator.predict(frame)]
        assert labels(model, said) == expected
    else:
        np.testing.assert_allclose(said[:, 0], estimator.predict(frame), rtol=1e-9, atol=1e-12)
    return model


@pytest.mark.parametrize("target", [CLASSES, BINARY, BINARY.astype(int)], ids=["3", "truth", "01"])
@pytest.mark.parametrize(
    "estimator",
    [
        TREE,
        tree.ExtraTreeClassifier(max_depth=5, random_state=0),
        ensemble.RandomForestClassifier(5, max_depth=5, random_state=0),
        ensemble.ExtraTreesClassifier(5, max_depth=5, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=5, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("frame", [FRAME[NUMERIC], GAPS[NUMERIC]], ids=["complete", "gaps"])
def test_a_classifier_predicts_as_it_does(estimator, target, frame):
    model = assert_same(estimator.fit(frame, target), frame)
    assert [feature.name for feature in model.features] == NUMERIC
    assert model.target == "worth"


@pytest.mark.parametrize(
    "estimator",
    [
        tree.DecisionTreeRegressor(max_depth=5, random_state=0),
        ensemble.RandomForestRegressor(4, max_depth=4, random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=5, random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=5, loss="poisson", random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=5, loss="quantile", quantile=0.7),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("frame", [FRAME[NUMERIC], GAPS[NUMERIC]], ids=["complete", "gaps"])
def test_a_regressor_predicts_as_it_does(estimator, frame):
    assert_same(estimator.fit(frame, np.maximum(NUMBER, 0)), frame)


@pytest.mark.parametrize(
    ("estimator", "target"),
    [
        (ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0), CLASSES),
        (ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0), BINARY),
        (ensemble.GradientBoostingRegressor(n_estimators=5, random_state=0), NUMBER),
    ],
)
def test_gradient_boosting_predicts_as_it_does(estimator, target):
    assert_same(estimator.fit(FRAME[NUMERIC], target), FRAME[NUMERIC])


ENCODERS = {
    "one-hot": preprocessing.OneHotEncoder(),
    "one-hot, first dropped": preprocessing.OneHotEncoder(drop="first"),
    "one-hot, others ignored": preprocessing.OneHotEncoder(handle_unknown="ignore"),
    "ordinal": preprocessing.OrdinalEncoder(),
    "ordinal, others apart": preprocessing.OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1
    ),
    "imputed": make_pipeline(
        impute.SimpleImputer(strategy="most_frequent"), preprocessing.OneHotEncoder()
    ),
}
SCALERS = {
    "standard": preprocessing.StandardScaler(),
    "robust": preprocessing.RobustScaler(),
    "max-abs": preprocessing.MaxAbsScaler(),
    "min-max": preprocessing.MinMaxScaler((-3, 2), clip=True),
    "imputed": make_pipeline(
        impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()
    ),
    "passthrough": "passthrough",
}
ENDS = {
    "tree": TREE,
    "forest": ensemble.RandomForestClassifier(3, max_depth=6, random_state=0),
    "boosting": ensemble.HistGradientBoostingClassifier(max_iter=3, random_state=0),
}


def pipelines(encoders, scalers):
    """Return encoder, scaler and end in every combination; the quick tier has each two of them together once."""
    every = list(itertools.product(encoders, scalers, ENDS))
    few = [
        (encoder, scalers[(first + second) % len(scalers)], end)
        for first, encoder in enumerate(encoders)
        for second, end in enumerate(ENDS)
    ]
    return pytest.mark.parametrize(("encoder", "scaler", "end"), cases(every, quick=few))


@pipelines(list(ENCODERS), list(SCALERS))
def test_a_pipeline_is_a_model_of_the_columns_that_go_into_it(encoder, scaler, end):
    steps = make_column_transformer(
        (ENCODERS[encoder], ["town", "job", "floor"]),
        (SCALERS[scaler], ["age"]),
        sparse_threshold=0,
    )
    estimator = make_pipeline(steps, ENDS[end]).fit(FRAME, CLASSES)
    model = assert_same(estimator, FRAME)
    assert [feature.name for feature in model.features] == ["age", "job", "town", "floor"]
    assert [feature.numeric for feature in model.features] == [True, False, False, True]


@pytest.mark.parametrize("name", ["one-hot, others ignored", "ordinal, others apart"])
def test_values_that_an_encoder_never_saw_go_where_it_sends_them(name):
    steps = make_column_transformer(
        (ENCODERS[name], ["town", "job"]), remainder="passthrough", sparse_threshold=0
    )
    estimator = make_pipeline(steps, TREE).fit(FRAME, CLASSES)
    assert_same(estimator, FRAME.replace({"job": {"nurse": "pilot"}, "town": {"c,d": "z"}}))


@pipelines(["one-hot", "ordinal", "imputed"], ["standard", "imputed", "passthrough"])
def test_missing_values_go_where_the_pipeline_sends_them(encoder, scaler, end):
    steps = make_column_transformer(
        (ENCODERS[encoder], ["town", "job"]), (SCALERS[scaler], ["age", "pay"]), sparse_threshold=0
    )
    assert_same(make_pipeline(steps, ENDS[end]).fit(GAPS, CLASSES), GAPS)


def test_an_imputer_lets_boosting_take_missing_values():
    boosting = ensemble.GradientBoostingClassifier(n_estimators=4, random_state=0)
    estimator = make_pipeline(impute.SimpleImputer(), preprocessing.MinMaxScaler(), boosting)
    assert_same(estimator.fit(GAPS[NUMERIC], CLASSES), GAPS[NUMERIC])


def test_categories_that_histogram_boosting_codes_itself_keep_their_names():
    frame = GAPS[["age", "job", "pay", "town"]].astype({"job": "category", "town": "category"})
    estimator = ensemble.HistGradientBoostingClassifier(max_iter=8).fit(frame, CLASSES)
    model = assert_same(estimator, frame)
    assert [feature.name for feature in model.features] == ["age", "job", "pay", "town"]


def test_names_are_those_of_the_frame_where_the_estimator_saw_an_array():
    estimator = TREE.fit(FRAME[NUMERIC].to_numpy(), CLASSES)
    model = open_fitted(estimator, names=NUMERIC).model
    assert [feature.name for feature in model.features] == NUMERIC
    with pytest.raises(TreeFormatError, match="trained on 3 columns, but the table has 2"):
        open_fitted(estimator, names=NUMERIC[:2])


def test_the_best_estimator_of_a_search_is_taken():
    search = model_selection.GridSearchCV(TREE, {"max_depth": [2, 3]}, cv=2)
    assert isinstance(open_fitted(search.fit(FRAME[NUMERIC], CLASSES)).model, Tree)


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (make_pipeline(PCA(2), TREE), "step 'pca': a PCA combines several columns"),
        (
            make_pipeline(preprocessing.FunctionTransformer(np.abs), TREE),
            "step 'functiontransformer': a FunctionTransformer may compute anything",
        ),
        (
            make_pipeline(impute.SimpleImputer(add_indicator=True), TREE),
            "step 'simpleimputer': this SimpleImputer: add_indicator is not supported",
        ),
        (
            ensemble.IsolationForest(n_estimators=2),
            "IsolationForest is not supported here; supported: DecisionTree",
        ),
    ],
)
def test_what_cannot_be_followed_is_named(estimator, said):
    with pytest.raises(TreeFormatError) as caught:
        open_fitted(estimator.fit(FRAME[NUMERIC], CLASSES))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "estimator",
    [
        tree.DecisionTreeClassifier(),
        ensemble.RandomForestClassifier(),
        ensemble.GradientBoostingRegressor(),
        ensemble.HistGradientBoostingClassifier(),
        make_pipeline(preprocessing.StandardScaler(), tree.DecisionTreeClassifier()),
        model_selection.GridSearchCV(TREE, {}),
    ],
)
def test_an_estimator_that_is_not_fitted_is_told_to_call_fit(estimator):
    with pytest.raises(TreeFormatError, match="call fit first"):
        open_fitted(estimator)


@pytest.mark.parametrize("thing", [None, 3, FRAME, object()])
def test_what_is_no_estimator_is_named_with_what_is_taken(thing):
    with pytest.raises(
        TreeFormatError, match=f"{type(thing).__name__}: not a supported model; give .* LightGBM"
    ):
        open_fitted(thing)


def test_a_seed_is_told_and_counts_are_people():
    file = open_fitted(TREE.fit(FRAME[NUMERIC], CLASSES))
    assert [leak.kind for leak in file.leaks] == [LeakKind.REPLAY]
    assert file.model.quality is Quality.EXACT


def test_what_the_steps_keep_of_the_table_is_told():
    steps = make_column_transformer(
        (preprocessing.OneHotEncoder(), ["job"]), (preprocessing.StandardScaler(), ["age"])
    )
    last = ensemble.HistGradientBoostingClassifier(max_iter=2)
    leaks = open_fitted(make_pipeline(steps, last).fit(FRAME, CLASSES)).leaks
    assert [leak.kind for leak in leaks] == [
        LeakKind.CATEGORIES,
        LeakKind.AVERAGES,
        LeakKind.MEDIANS,
    ]


def test_a_tree_is_written_as_pmml_that_says_the_same():
    file = open_fitted(TREE.fit(GAPS[NUMERIC], CLASSES), target="worth")
    again = load_model(file.opened.rewrite(file.model), "again.pmml")
    held = columns(file.model, GAPS)
    np.testing.assert_array_equal(predict(file.model, held), predict(again, held))


def test_a_split_between_missing_and_present_values_is_written_too():
    gone = np.where(BINARY, np.nan, FRAME.pay)
    estimator = tree.DecisionTreeClassifier(max_depth=3).fit(np.c_[gone, FRAME.age], BINARY)
    file = open_fitted(estimator, names=["pay", "age"])
    again = load_model(file.opened.rewrite(file.model), "again.pmml")
    held = columns(file.model, pd.DataFrame({"pay": gone, "age": FRAME.age}))
    np.testing.assert_array_equal(predict(file.model, held), predict(again, held))
    assert any(isinstance(node.test, MissingTest) for node in file.model.nodes)


def test_a_pipeline_is_written_as_pmml_that_says_the_same():
    steps = make_column_transformer(
        (ENCODERS["imputed"], ["town", "job"]), (SCALERS["imputed"], ["age", "floor"])
    )
    file = open_fitted(make_pipeline(steps, TREE).fit(GAPS, CLASSES), target="worth")
    again = load_model(file.opened.rewrite(file.model), "again.pmml")
    held = columns(file.model, GAPS)
    np.testing.assert_array_equal(predict(file.model, held), predict(again, held))


def test_a_column_of_which_only_its_gaps_are_left_is_one_of_categories():
    column = pd.DataFrame({"town": GAPS.town.where(GAPS.town.isna(), "here")})
    encoder = preprocessing.OneHotEncoder(drop="first", handle_unknown="ignore")
    estimator = make_pipeline(encoder, TREE).fit(column, CLASSES)
    (feature,) = open_fitted(estimator).model.features
    assert (feature.name, feature.numeric, feature.values) == ("town", False, ())


def test_a_score_on_records_that_trees_did_not_see_is_told():
    estimator = ensemble.RandomForestClassifier(40, oob_score=True, random_state=3)
    estimator.fit(FRAME[NUMERIC], CLASSES)
    del estimator.oob_decision_function_
    places = [leak.where for leak in open_fitted(estimator).leaks]
    assert any("oob_score_" in place for place in places)
