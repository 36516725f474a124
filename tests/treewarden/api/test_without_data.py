"""``tw.audit(model, None)``: counts of a fitted tree are people only where nothing was weighed or drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.treewarden.api.conftest import pack

SETTINGS = {"max_depth": 2, "min_samples_leaf": 8, "random_state": 0}
LENIENT = pack(k_anonymity=5, label_disclosure=0.95)
OF_SIZES = pack(k_anonymity=5)


def fitted(estimator, frame, **more):
    return estimator.fit(frame[["age", "sex"]], frame["ill"], **more)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreesClassifier])
def test_leaves_of_everybody_are_read_as_with_the_table(frame, kind):
    model = fitted(kind(**SETTINGS), frame)
    alone = tw.audit(model, None, policy=OF_SIZES)
    whole = tw.audit(model, frame, sensitive="ill", policy=OF_SIZES, worlds=False)
    assert alone.verdict == whole.verdict == tw.Verdict.PASS
    names = ["k_anonymity", "distinct_diversity", "label_disclosure"]
    found = [
        {row["measure"]: row for _, row in each.readings.iterrows()} for each in (alone, whole)
    ]
    assert [found[0][name]["low"] for name in names] == [found[1][name]["low"] for name in names]
    assert tw.audit(model, None, policy=LENIENT).verdict == tw.Verdict.UNDETERMINED


def test_weights_that_add_up_to_the_records_of_each_leaf_pass_no_check_of_shares():
    # In each leaf 32 people weigh 1/2 and are ill, one weighs 17 and is not: shares of 16 and 17 of 33.
    table = pd.DataFrame({"a": [0] * 33 + [1] * 33, "ill": (["yes"] * 32 + ["no"]) * 2})
    table.loc[33:, "ill"] = ["no"] * 32 + ["yes"]
    weights = np.array(([0.5] * 32 + [17.0]) * 2)
    model = DecisionTreeClassifier().fit(table[["a"]], table["ill"], sample_weight=weights)
    assert model.tree_.node_count == 3
    assert np.array_equal(model.tree_.weighted_n_node_samples, model.tree_.n_node_samples)
    assert tw.audit(model, None, policy=LENIENT).verdict == tw.Verdict.UNDETERMINED


@pytest.mark.parametrize(
    ("estimator", "weights"),
    [
        (RandomForestClassifier(3, **SETTINGS), None),
        (DecisionTreeClassifier(**SETTINGS, class_weight="balanced"), None),
        (DecisionTreeClassifier(**SETTINGS), 3.0),
        (DecisionTreeClassifier(**SETTINGS), 0.5),
    ],
    ids=["draws", "class weights", "three each", "half each"],
)
def test_what_was_weighed_or_drawn_proves_nothing(frame, estimator, weights):
    told = {} if weights is None else {"sample_weight": np.full(len(frame), weights)}
    model = fitted(estimator, frame, **told)
    assert tw.audit(model, None, policy=LENIENT).verdict == tw.Verdict.UNDETERMINED
