"""Pipelines and gradient boosting in skops files: what training left goes, what stays has a name, nothing hides."""

import numpy as np
import pandas as pd
import pytest

from tests.kit.tiers import cases
from tests.ppdm_models.formats.accounting import content
from tests.ppdm_models.formats.described import cleaned, unnoticed
from treewarden.ppdm_models.files.load import open_model

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")
compose = pytest.importorskip("sklearn.compose", reason="scikit-learn is not installed")
ensemble = pytest.importorskip("sklearn.ensemble")
impute = pytest.importorskip("sklearn.impute")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
tree = pytest.importorskip("sklearn.tree")

RANDOM = np.random.default_rng(4)
ROWS = 120
TABLE = pd.DataFrame(
    {
        "age": RANDOM.normal(size=ROWS).round(1),
        "pay": RANDOM.normal(size=ROWS).round(1),
        "job": RANDOM.choice(["cook", "clerk", "nurse"], ROWS),
        "town": RANDOM.choice(["north west", "south"], ROWS),
        "size": RANDOM.choice([1, 2, 3], ROWS),
    }
)
NUMBERS = TABLE[["age", "pay"]]
ILL = np.where(TABLE["age"] + RANDOM.normal(size=ROWS) > 0, "yes", "no")
LEAVES = {"max_leaf_nodes": 3}


def by_type():
    of_numbers = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="median"), preprocessing.RobustScaler()
    )
    of_texts = pipeline.make_pipeline(
        impute.SimpleImputer(strategy="most_frequent"), preprocessing.OneHotEncoder(drop="first")
    )
    select = compose.make_column_selector
    return compose.ColumnTransformer(
        [
            ("num", of_numbers, select(dtype_include="number")),
            ("cat", of_texts, select(dtype_exclude="number")),
        ]
    )


def by_name():
    return compose.make_column_transformer(
        (preprocessing.OneHotEncoder(handle_unknown="ignore"), ["job"]),
        (preprocessing.OrdinalEncoder(), ["town"]),
        (pipeline.make_pipeline(impute.SimpleImputer(), preprocessing.StandardScaler()), ["age"]),
        (preprocessing.KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), ["size"]),
        remainder="passthrough",
    )


def boosting(**settings):
    return ensemble.GradientBoostingClassifier(n_estimators=2, max_depth=1, **settings)


CASES = {
    "boosting": (boosting(random_state=3), NUMBERS, ILL, ["target-statistics"]),
    "boosting of three classes": (
        boosting(n_iter_no_change=2),
        NUMBERS,
        np.resize(("a", "b", "c"), ROWS),
        ["target-statistics"],
    ),
    "boosting of numbers": (
        ensemble.GradientBoostingRegressor(n_estimators=2, max_depth=1, subsample=0.7),
        NUMBERS,
        TABLE["pay"],
        ["target-statistics"],
    ),
    "scaled": (
        pipeline.make_pipeline(
            preprocessing.MinMaxScaler(),
            preprocessing.MaxAbsScaler(),
            tree.DecisionTreeClassifier(random_state=3, **LEAVES),
        ),
        NUMBERS,
        ILL,
        ["extremes", "extremes"],
    ),
    "by name": (
        pipeline.make_pipeline(by_name(), tree.DecisionTreeClassifier(**LEAVES)),
        TABLE,
        ILL,
        ["categories", "categories", "medians", "averages", "medians"],
    ),
    "by type": (
        pipeline.Pipeline(
            [("pre", by_type()), ("clf", ensemble.HistGradientBoostingClassifier(max_iter=1))]
        ),
        TABLE,
        ILL,
        ["medians", "medians", "medians", "categories"],
    ),
    "passthrough": (
        pipeline.make_pipeline("passthrough", tree.DecisionTreeClassifier(**LEAVES)),
        NUMBERS,
        ILL,
        [],
    ),
}
"""Estimators, what they are fitted on, and the kinds of what has a name and stays, as predictions need it."""


def saved(name):
    estimator, table, target, left = CASES[name]
    return estimator.fit(table, target), table, skops_io.dumps(estimator), left


def test_what_training_left_goes_what_predicts_stays_and_has_a_name():
    for name in CASES:
        estimator, table, data, left = saved(name)
        file, clean = open_model(data, "m.skops"), cleaned(data)
        bare = open_model(clean, "m.skops")
        assert [str(leak.kind) for leak in bare.leaks] == left, name
        assert not any(leak.removable for leak in bare.leaks), name
        assert cleaned(clean) == clean, name
        assert content(bare.model) == content(file.model), name
        loaded = skops_io.loads(clean, trusted=skops_io.get_untrusted_types(data=clean))
        np.testing.assert_array_equal(loaded.predict(table), estimator.predict(table))


@pytest.mark.in_both
@pytest.mark.parametrize("name", cases(["scaled", "boosting", "by name", "by type"], quick=1))
def test_nothing_can_be_hidden_in_the_description_unnoticed(name):
    assert unnoticed(cleaned(saved(name)[2])) == []


def test_steps_that_are_called_otherwise_than_steps_are_have_to_be_looked_at():
    estimator = pipeline.Pipeline(
        [("ann has hiv", preprocessing.MaxAbsScaler()), ("tree", tree.DecisionTreeClassifier())]
    )
    data = skops_io.dumps(estimator.fit(NUMBERS, ILL))
    told = [leak.what for leak in open_model(cleaned(data), "m.skops").leaks]
    assert any("the name of a step" in what for what in told)


def test_categories_that_no_test_names_are_few_and_short_or_told():
    for values, is_told in ((["a", "b"], False), (["a", "ann 44 has it"], True)):
        column = pd.DataFrame({"job": np.resize(values, ROWS), "age": TABLE["age"]})
        encoder = compose.make_column_transformer(
            (preprocessing.OneHotEncoder(handle_unknown="ignore"), ["job"]), remainder="passthrough"
        )
        estimator = pipeline.make_pipeline(encoder, tree.DecisionTreeClassifier(max_leaf_nodes=2))
        data = cleaned(skops_io.dumps(estimator.fit(column, np.where(column["age"] > 0, "y", "n"))))
        kinds = {str(leak.kind) for leak in open_model(data, "m.skops").leaks}
        assert ("unknown" in kinds) is is_told, values
