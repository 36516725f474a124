import math

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from treewarden.api import searching
from treewarden.learn import PolicyTreeClassifier

INPUTS, TARGET = load_wine(return_X_y=True, as_frame=True)
SMALL = {
    "name": "small",
    "version": "1",
    "title": "small",
    "clause": [{"id": "ten", "measure": "k_anonymity", "rule": "at_least", "limit": 10}],
}
TREE = DecisionTreeClassifier(random_state=0)
QUICK = {"jobs": 1, "worlds": False}
GRID = {"min_samples_leaf": [1, 12, 80]}


def searched(estimator=TREE, grid=GRID, **more):
    return tw.search(estimator, grid, INPUTS, TARGET, policy=SMALL, cv=3, **(QUICK | more))


def test_the_best_settings_that_pass_are_refitted_and_audited_on_all_records():
    found = searched()
    assert found.settings == {"min_samples_leaf": 12}
    assert found.result.passed
    assert found.estimator.tree_.n_node_samples[0] == len(INPUTS)
    table = found.candidates
    assert list(table["verdict"]) == ["FAIL", "PASS", ""]
    assert table["score"].is_monotonic_decreasing
    assert found.score == table["score"][1]
    assert table["problem"][0].startswith("does not pass: ")
    found.raise_for_verdict()


def test_proofs_are_searched_for_only_where_nothing_else_fails(monkeypatch):
    asked = []

    def audit(*arguments, **options):
        result = tw.audit(*arguments, **options)
        asked.append((options["worlds"], str(result.verdict)))
        return result

    monkeypatch.setattr(searching, "audit", audit)
    found = searched(worlds=True, worlds_budget=1)
    assert found.is_found
    assert asked == [(False, "FAIL"), (False, "PASS"), (True, "PASS")]


def test_a_boosted_model_that_no_settings_let_pass_is_told_that_a_repair_rounds():
    package = pytest.importorskip("lightgbm")
    model = package.LGBMClassifier(n_estimators=2, n_jobs=1, verbose=-1)
    found = searched(model, {"min_child_samples": [1]})
    with pytest.raises(tw.FailedError, match=r"treewarden.repair, which also rounds"):
        found.raise_for_verdict()


def test_a_tree_without_a_split_and_settings_that_cannot_be_fitted_never_count():
    found = searched(grid={"min_samples_leaf": [1, 100], "max_depth": [3]})
    assert not found.is_found
    assert (found.estimator, found.score) == (None, None)
    assert "no split" in found.candidates["problem"].iloc[-1]
    with pytest.raises(tw.FailedError, match="none of 2 combinations"):
        found.raise_for_verdict()
    failing = searched(grid={"min_samples_leaf": [1]})
    with pytest.raises(tw.FailedError, match=r"best score: does not pass: .*PolicyTreeClassifier"):
        failing.raise_for_verdict()
    odd = searched(grid={"min_samples_leaf": [-1, 12]})
    assert odd.candidates["problem"].iloc[-1].startswith("cannot be fitted")


def test_trees_grown_under_the_policy_are_searched_alike():
    grid = {"max_depth": [2, 4]}
    found = searched(PolicyTreeClassifier(SMALL, audit=False), grid)
    assert list(found.candidates["verdict"]) == ["PASS", ""]


def test_a_scorer_audits_the_refit_on_the_training_records_once_for_each_setting():
    heard = []

    def accuracy(model, inputs, values):
        heard.append(len(inputs))
        return model.score(inputs, values)

    scorer = tw.privacy_scorer(SMALL, X=INPUTS, y=TARGET, scoring=accuracy, **QUICK)
    found = GridSearchCV(TREE, GRID, scoring=scorer, cv=3).fit(INPUTS, TARGET)
    scores = found.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert scores[0] == 0
    assert found.best_params_ == {"min_samples_leaf": 12}
    assert tw.audit(found, (INPUTS, TARGET), policy=SMALL, levels=False, **QUICK).passed
    assert max(heard) < len(INPUTS)


def test_the_lowest_score_can_be_named_where_scores_are_negative():
    scorer = tw.privacy_scorer(
        SMALL, X=INPUTS, y=TARGET, scoring="neg_log_loss", failing=-99.0, **QUICK
    )
    model = TREE.fit(INPUTS, TARGET)
    assert scorer(model, INPUTS, TARGET) == -99
    larger = DecisionTreeClassifier(min_samples_leaf=12).fit(INPUTS, TARGET)
    assert -99 < scorer(larger, INPUTS, TARGET) < 0
    assert not math.isnan(scorer(larger, INPUTS, TARGET))


def test_a_policy_that_there_is_not_and_an_unknown_option_end_the_search():
    with pytest.raises(tw.ArgumentError, match="polcy"):
        searched(polcy="standard")
    with pytest.raises(tw.PolicyError, match="nosuch"):
        tw.search(TREE, GRID, INPUTS, TARGET, policy="nosuch", cv=3)
