"""What estimators that no audit can decide are told: why, and how to train one that can pass."""

import pytest
import skops.io
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.treewarden.api.conftest import pack, people

FRAME = people()
X, Y = FRAME[["age", "sex"]], FRAME["ill"]
SMALL = {"max_depth": 2, "min_samples_leaf": 30}
FOREST = {"n_estimators": 2, "bootstrap": False, **SMALL}


def steps_of(estimator):
    result = tw.audit(estimator.fit(X, Y), (X, Y), worlds_budget=1, jobs=1)
    return result, " ".join(result.to_dict()["next_steps"])


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(class_weight="balanced", **SMALL),
        DecisionTreeClassifier(class_weight={"yes": 2, "no": 1.5}, **SMALL),
        RandomForestClassifier(class_weight="balanced", **FOREST),
        RandomForestClassifier(class_weight={"yes": 2, "no": 1.5}, **FOREST),
    ],
)
def test_class_weights_are_named_and_do_not_contradict_the_table(estimator):
    result, steps = steps_of(estimator)
    assert result.verdict is not tw.Verdict.PASS
    assert "Train it without class_weight" in steps
    assert "weights=" not in steps
    assert not (result.findings["clause"] == "table-agrees").any()


def test_a_file_of_weighed_classes_does_not_contradict_the_table(tmp_path):
    file = tmp_path / "flu.skops"
    skops.io.dump(DecisionTreeClassifier(class_weight="balanced", **SMALL).fit(X, Y), file)
    result = tw.audit(file, FRAME[["age", "sex", "ill"]], sensitive="ill", worlds_budget=1, jobs=1)
    assert result.verdict is tw.Verdict.UNDETERMINED
    assert not (result.findings["clause"] == "table-agrees").any()
    assert not result.to_dict()["dropped"]


def test_boosting_by_weights_is_told_what_to_train_instead():
    result, steps = steps_of(AdaBoostClassifier(n_estimators=2))
    assert result.verdict is not tw.Verdict.PASS
    assert "Train gradient boosting" in steps
    assert "sampling_weights" not in steps


def test_a_forest_of_samples_is_told_to_train_on_all_records():
    _, steps = steps_of(RandomForestClassifier(n_estimators=2, **SMALL))
    assert "Train every tree on all records (in scikit-learn bootstrap=False)" in steps


def test_gradient_boosting_is_told_to_be_saved_and_redacted():
    _, steps = steps_of(GradientBoostingClassifier(n_estimators=2, **SMALL))
    assert "“treewarden redact”" in steps


@pytest.mark.parametrize(
    ("limits", "advice"),
    [
        ({"estimate_gain": -1}, "with a larger learning rate"),
        ({"estimate_gain": -1, "k_anonymity": 1000}, "larger leaves (min_samples_leaf"),
    ],
)
def test_a_gain_alone_asks_for_a_larger_learning_rate_not_for_larger_leaves(limits, advice):
    boosted = HistGradientBoostingClassifier(max_iter=2, max_depth=2, learning_rate=0.05)
    result = tw.audit(boosted.fit(X, Y), (X, Y), policy=pack(**limits), worlds=False, jobs=1)
    assert advice in " ".join(result.to_dict()["next_steps"])
