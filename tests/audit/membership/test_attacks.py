"""Attacks by trial: their scores by hand, their metrics as SACRO-ML counts them, and that they repeat."""

import numpy as np
import pytest

from treewarden.audit.membership.attacks import (
    AttackedPeople,
    ShadowModels,
    lira_scores,
    metrics_of,
    rmia_scores,
    run_attacks,
    train_shadow_models,
)

MEMBERS = np.array([True, True, False, False])


def test_a_score_that_parts_all_has_no_false_alarm():
    found = metrics_of(np.array([3.0, 2.0, 1.0, 0.0]), MEMBERS)
    assert found == {"AUC": 1.0, "TPR@0.001": 1.0, "TPR@0.01": 1.0, "Advantage": 1.0}


def test_people_with_one_score_are_named_at_random():
    found = metrics_of(np.zeros(4), MEMBERS)
    assert found == pytest.approx(
        {"AUC": 0.5, "TPR@0.001": 0.001, "TPR@0.01": 0.01, "Advantage": 0.0}
    )


def test_metrics_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(0)
    scores, members = random.integers(0, 9, 200).astype(float), random.random(200) < 0.5
    false, true, _ = metrics.roc_curve(members, scores, drop_intermediate=False)
    found = metrics_of(scores, members)
    assert found["AUC"] == pytest.approx(metrics.roc_auc_score(members, scores))
    assert found["Advantage"] == pytest.approx((true - false).max())
    assert found["TPR@0.01"] == pytest.approx(np.interp(0.01, false, true))


def test_lira_is_the_ratio_of_two_normal_densities():
    # Logits 1 and 3 with the person, -1 and 1 without: means 2 and 0, both of variance 1.
    logits = np.array([[1.0], [3.0], [-1.0], [1.0]])
    saw = np.array([[True], [True], [False], [False]])
    shadows = ShadowModels(1 / (1 + np.exp(-logits)), saw)
    score = lira_scores(1 / (1 + np.exp(-np.array([2.0]))), shadows)
    assert score == pytest.approx([4 / (2 * 1.01**2)])


def test_rmia_counts_whom_the_model_prefers_less_by_far():
    # Means are .5 for everybody, so that ratios are 1.8, .9, .6 and .2; twice as far are 0 or more below each.
    shadows = ShadowModels(np.full((2, 4), 0.5), np.array([[True] * 4, [False] * 4]))
    assert rmia_scores(np.array([0.9, 0.45, 0.3, 0.1]), shadows).tolist() == [0.75, 0.25, 0.25, 0]


def people_of(size=60):
    random = np.random.default_rng(1)
    class_of = random.integers(0, 2, size)
    confidence = random.dirichlet([1, 1], size)
    return AttackedPeople(confidence, class_of, np.arange(size) < size // 2)


def test_shadow_models_see_as_many_people_as_the_model_and_some_of_each_class():
    people = people_of()
    seen = []

    def refit(rows, seed):
        seen.append((tuple(rows), seed))
        assert set(people.class_of[rows]) == {0, 1}
        return people.confidence

    shadows = train_shadow_models(people, refit)
    assert (shadows.saw.sum(axis=1) == 30).all()
    assert len(set(seen)) == len(seen)
    first = list(seen)
    seen.clear()
    train_shadow_models(people, refit)
    assert seen == first


def test_all_three_attacks_are_run_and_a_model_that_says_nothing_tells_nothing():
    pytest.importorskip("sklearn")
    people = AttackedPeople(np.full((60, 2), 0.5), np.arange(60) % 2, np.arange(60) < 30)
    found = {
        each.name: each.metrics
        for each in run_attacks(people, lambda rows, seed: people.confidence)
    }
    assert list(found) == ["LiRA", "RMIA", "worst case"]
    assert all(each["AUC"] == pytest.approx(0.5) for each in found.values())
