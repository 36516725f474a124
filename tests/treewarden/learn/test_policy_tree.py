import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import treewarden as tw
from tests.kit.tiers import cases
from treewarden.learn import PolicyTreeClassifier, PolicyTreeRegressor
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.fitted import open_fitted

QUICK = {"levels": False, "jobs": 1}
ROWS_ARE_PEOPLE = {
    "check_sample_weight_equivalence_on_dense_data": "a row is one person, whatever it weighs"
}


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(as_frame=True).frame


def fitted(frame, target="target", **settings):
    return PolicyTreeClassifier(**settings).fit(frame.drop(columns=target), frame[target])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learner", cases([PolicyTreeClassifier, PolicyTreeRegressor], quick=1))
def test_scikit_learns_own_checks_hold_for_both_learners(learner):
    check_estimator(learner(audit=False), expected_failed_checks=ROWS_ARE_PEOPLE)


def test_a_tree_has_splits_and_passes_as_an_estimator_and_as_the_file_that_is_published(cancer):
    model = fitted(cancer)
    assert (model.verdict_, model.get_n_leaves() >= 2) == ("PASS", True)
    assert model.score(cancer.drop(columns="target"), cancer["target"]) > 0.85
    assert tw.audit(model, cancer, sensitive="target", **QUICK).passed
    tree = open_fitted(model, target="target").model
    for form in ("pmml", "treewarden_json"):
        data = converted(tree, form)
        assert b"policy-tree" in data  # the file names the learner, and its reader accounts for it
        assert tw.audit(data, cancer, sensitive="target", **QUICK).passed


def test_a_fixed_seed_leaves_open_what_a_refused_split_tells(cancer):
    seeded = fitted(cancer, random_state=0)
    assert (seeded.verdict_, seeded.get_n_leaves() >= 2) == ("UNDETERMINED", True)
    for model in (seeded, converted(open_fitted(seeded, target="target").model, "pmml")):
        result = tw.audit(model, cancer, sensitive="target", **QUICK)
        assert str(result.verdict) == "UNDETERMINED"
        assert any("random_state=None" in said for said in result.warnings)


def test_an_adversary_who_does_not_know_the_counts_is_told_to_be_limited_by_the_policy(cancer):
    result = tw.audit(fitted(cancer), cancer, sensitive="target", leaf="labels", **QUICK)
    assert result.passed  # tables with the same counts show that nobody is certain
    assert any("every node met a policy" in said for said in result.warnings)


def test_a_split_criterion_that_somebody_assumes_proves_nothing_of_drawn_cuts(cancer):
    assert tw.audit(fitted(cancer), cancer, sensitive="target", split="gini", **QUICK).passed


def test_sampling_weights_are_audited_as_sums_that_may_prove_more_than_counts(cancer):
    cancer = cancer.assign(w=np.where(np.arange(len(cancer)) % 3 == 0, 2.0, 0.5))
    inputs = cancer.drop(columns=["target", "w"])
    model = PolicyTreeClassifier(audit=False).fit(inputs, cancer["target"], cancer["w"])
    assert pd.Series(model.apply(inputs)).value_counts().min() >= 10
    result = tw.audit(model, cancer, sensitive="target", sampling_weights="w", **QUICK)
    assert str(result.verdict) == "FAIL"  # the sums of small leaves tell some weights apart
    assert any("weighted class counts" in said for said in result.warnings)


def test_pipelines_searches_clones_and_pickles_keep_a_learner_as_it_is(cancer):
    inputs, target = cancer.drop(columns="target"), cancer["target"]
    pipe = make_pipeline(StandardScaler(), PolicyTreeClassifier(audit=False))
    search = GridSearchCV(pipe, {"policytreeclassifier__max_depth": [2, 4]}, cv=3)
    search.fit(inputs, target)
    assert search.best_score_ > 0.8
    assert tw.audit(search, cancer, sensitive="target", **QUICK).findings["verdict"][0] == "PASS"
    model = fitted(cancer)
    assert list(model.feature_names_in_) == list(inputs.columns)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(inputs) == model.predict(inputs)).all()


def test_a_tree_without_a_split_says_so():
    columns = np.arange(12.0).reshape(-1, 1)
    with pytest.warns(UserWarning, match="has a split meets the policy 'standard'"):
        model = PolicyTreeClassifier().fit(columns, [0, 1] * 6)
    assert (model.get_n_leaves(), model.verdict_) == (1, "PASS")


def test_a_policy_that_the_leaves_alone_cannot_keep_is_reached_by_cutting_back(cancer):
    clause = {"id": "gain", "measure": "guess_accuracy", "rule": "at_most", "limit": 0.2}
    rules = {"name": "own", "version": "1", "title": "own", "clause": [clause]}
    clause["parameters"] = {"over": "marginal"}
    cancer = cancer.iloc[:200]
    free = fitted(cancer, policy={**rules, "clause": [{**clause, "limit": 1.0}]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = fitted(cancer, policy=rules)
    assert kept.verdict_ == "PASS"
    assert kept.get_n_leaves() < free.get_n_leaves()


def test_a_tree_is_pruned_as_far_as_held_out_records_say():
    draw = np.random.default_rng(0)
    columns = draw.random((600, 5))
    labels = (columns[:, 0] > 0.5) ^ (draw.random(600) < 0.2)
    pruned, whole = (
        PolicyTreeClassifier(folds=folds, audit=False).fit(columns, labels) for folds in (5, 0)
    )
    assert 2 <= pruned.get_n_leaves() < whole.get_n_leaves()
    numbers = columns[:, 0] + 0.3 * draw.standard_normal(600)
    pruned, whole = (
        PolicyTreeRegressor(folds=folds, audit=False).fit(columns, numbers) for folds in (5, 0)
    )
    assert 2 <= pruned.get_n_leaves() < whole.get_n_leaves()


def test_a_regressor_keeps_the_smallest_leaf_and_passes():
    inputs, target = load_diabetes(return_X_y=True, as_frame=True)
    model = PolicyTreeRegressor().fit(inputs, target)
    assert (model.verdict_, model.get_n_leaves() > 3) == ("PASS", True)
    assert pd.Series(model.apply(inputs)).value_counts().min() >= 10
    assert tw.audit(model, (inputs, target), **QUICK).passed


def test_settings_that_cannot_be_are_refused_by_name(cancer):
    for settings, problem in (
        ({"share_drawn": 1.0}, "share_drawn: 1.0"),
        ({"max_depth": 0}, "max_depth: 0"),
        ({"folds": 1}, "folds: 1 is not valid; give a whole number of 2 or more"),
        ({"criterion": "twoing"}, "criterion: 'twoing'"),
    ):
        with pytest.raises(ValueError, match=problem):
            fitted(cancer, **settings)
    with pytest.raises(tw.PolicyError, match="nosuch"):
        fitted(cancer, policy="nosuch")
    with pytest.raises(ValueError, match="NaN"):
        PolicyTreeClassifier().fit([[np.nan], [1.0]], [0, 1])
