"""Estimators that were fitted with weights, audited without an option that names them: nothing firm rests on counts."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit.tiers import cases
from treewarden.policies.verdict import PolicyVerdict

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import ensemble, tree  # noqa: E402  # as above

ESTIMATED = (
    *("disclosure", "confidence", "guess_accuracy", "information_gain", "kl_overall"),
    *("kl_individual", "estimate_gain", "own_contribution", "recovered_leaves"),
)
CERTAIN = ("certain_disclosure", "excluded_values", "certain_in_small_groups")
LEVELS = ("as-published", "counts", "rates", "labels")


def table_of(rows=240):
    """Return a table whose people are all told apart, in leaves that hold many of both classes."""
    draw = np.random.default_rng(5)
    frame = pd.DataFrame({"a": draw.integers(0, 3, rows), "b": np.arange(rows) % 80})
    frame["y"] = np.where(frame.a + draw.normal(0, 1.5, rows) > 1, "yes", "no")
    return frame.assign(w=draw.integers(1, 4, rows))


TABLE = table_of()
WHOLE, PARTS, TWICE = TABLE.w.astype(float), TABLE.w + 0.25, np.full(len(TABLE), 2.0)


def fitted(weights=None, **settings):
    grown = tree.DecisionTreeClassifier(max_depth=2, random_state=0, **settings)
    return grown.fit(TABLE[["a", "b"]], TABLE.y, sample_weight=weights)


@cache
def weighed():
    return {
        "whole weights": fitted(WHOLE),
        "weights": fitted(PARTS),
        "all twice": fitted(TWICE),
        "classes": fitted(class_weight={"yes": 1, "no": 5}),
        "classes, balanced": fitted(class_weight="balanced"),
        "both": fitted(PARTS, class_weight={"yes": 2, "no": 1}),
    }


def readings(estimator, data=TABLE[["a", "b", "y"]], **options):
    """Return what each measure reads by its name, with its defaults."""
    result = tw.audit(estimator, data, sensitive="y", **options)
    return result, dict(iter(result.readings.groupby("measure")))


@pytest.mark.parametrize("level", cases(LEVELS, quick=2))
@pytest.mark.parametrize("name", weighed())
def test_readings_that_rest_on_counts_of_classes_are_not_told(name, level):
    result, found = readings(weighed()[name], leaf=level)
    for measure in ESTIMATED:
        assert found[measure].low.isna().all(), measure
        assert found[measure].reason.str.contains("weights=|class_weight").all(), measure
    for measure in CERTAIN:
        assert (found[measure].high > 0).all(), measure
    assert result.verdict is not PolicyVerdict.PASS


@pytest.mark.parametrize("name", weighed())
def test_without_the_labels_nothing_firm_is_told_either(name):
    result = tw.audit(weighed()[name], TABLE[["a", "b"]])
    found = result.readings.set_index("measure")
    assert not (found.loc[["certain_disclosure"]].high == 0).any()
    assert found.loc[["confidence", "guess_accuracy"]].low.isna().all()


def test_weights_that_are_named_are_used():
    result, found = readings(fitted(PARTS), TABLE.assign(w=PARTS), sampling_weights="w")
    assert (found["disclosure"].low > 0.5).all()
    _, found = readings(fitted(WHOLE), TABLE, weights="w")
    assert (found["disclosure"].low > 0.5).all()


def test_a_tree_without_weights_is_read_as_before():
    _, found = readings(fitted())
    assert (found["disclosure"].low > 0.5).all()
    assert (found["recovered_leaves"].low == 1).all()


@pytest.mark.parametrize(
    "estimator",
    [
        ensemble.RandomForestClassifier(3, bootstrap=False, max_depth=2, random_state=0),
        ensemble.RandomForestClassifier(3, max_depth=2, random_state=0),
        ensemble.ExtraTreesClassifier(3, max_depth=2, random_state=0),
        ensemble.GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=4),
    ],
    ids=lambda each: type(each).__name__,
)
def test_nothing_firm_is_told_of_ensembles_of_weighed_records(estimator):
    result, found = readings(estimator.fit(TABLE[["a", "b"]], TABLE.y, sample_weight=PARTS))
    for measure in ("disclosure", "certain_disclosure", "recovered_leaves"):
        assert (found[measure].low.isna() | (found[measure].high > 0)).all()
    assert result.verdict is not PolicyVerdict.PASS


def test_a_forest_of_weighed_records_says_which_option_names_them():
    forest = ensemble.ExtraTreesClassifier(3, max_depth=2, random_state=0)
    _, found = readings(forest.fit(TABLE[["a", "b"]], TABLE.y, sample_weight=PARTS))
    assert found["certain_disclosure"].reason.str.contains("weights=").all()


@pytest.mark.parametrize(
    "estimator",
    [
        tree.DecisionTreeRegressor(max_depth=2, random_state=0),
        ensemble.RandomForestRegressor(3, bootstrap=False, max_depth=2, random_state=0),
        ensemble.GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0),
        ensemble.HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=4),
    ],
    ids=lambda each: type(each).__name__,
)
def test_nothing_is_told_of_numbers_of_weighed_records(estimator):
    numbers = TABLE.a * 2 + TABLE.b
    grown = estimator.fit(TABLE[["a", "b"]], numbers, sample_weight=PARTS)
    result, found = readings(grown, TABLE[["a", "b"]].assign(y=numbers))
    assert found["value_disclosure"].low.isna().all()
    assert result.verdict is not PolicyVerdict.PASS


def test_who_knows_some_columns_is_not_told_of_firmly_either():
    result = tw.audit(fitted(PARTS), TABLE[["a", "b", "y"]], sensitive="y", knows=["a"])
    assert result.verdict is not PolicyVerdict.PASS


@pytest.mark.parametrize(
    "estimator",
    [fitted(PARTS), fitted(class_weight={"yes": 1, "no": 5})],
    ids=["others", "classes"],
)
def test_a_column_that_is_not_the_weights_names_none(estimator):
    _, found = readings(estimator, TABLE, weights="w")
    for measure in ("disclosure", "recovered_leaves"):
        assert found[measure].low.isna().all()
    assert (found["certain_disclosure"].high > 0).all()
