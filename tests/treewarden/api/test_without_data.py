"""``tw.audit(model, None)``: counts of a fitted tree are people only where nothing was weighed or drawn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.treewarden.api.conftest import pack

SETTINGS = {"max_depth": 2, "min_samples_leaf": 8, "random_state": 0}
LENIENT = pack(k_anonymity=5, label_disclosure=0.95)


def fitted(estimator, frame, **more):
    return estimator.fit(frame[["age", "sex"]], frame["ill"], **more)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreesClassifier])
def test_counts_of_everybody_are_read_as_with_the_table(frame, kind):
    model = fitted(kind(**SETTINGS), frame)
    alone = tw.audit(model, None, policy=LENIENT)
    whole = tw.audit(model, frame, sensitive="ill", policy=LENIENT, worlds=False)
    assert alone.verdict == whole.verdict == tw.Verdict.PASS
    names = ["k_anonymity", "label_disclosure", "entropy_diversity"]
    found = [
        {row["measure"]: row for _, row in each.readings.iterrows()} for each in (alone, whole)
    ]
    assert [found[0][name]["low"] for name in names] == [found[1][name]["low"] for name in names]


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
