"""Pruning of grown trees, beside scikit-learn's, and the choice of how far by cross-validation."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.kit.tiers import seeds
from treewarden.ppdm_models.learn.drawn_cuts import (
    GrownNodes,
    GrowthRule,
    Records,
    brier,
    choose_penalty,
    gini,
    grow,
    prune,
    pruning_path,
    squared_distance,
    squared_error,
)

FREE = GrowthRule(gini, lambda people, sums: people.sum(axis=1) >= 1, 8, 0.9)


def records_of(columns, codes):
    people = np.eye(int(codes.max()) + 1)[codes]
    return Records(np.asarray(columns, dtype=np.float32), people, people)


def as_grown(tree, sums):
    """Return scikit-learn's arrays as ours; ``sums`` (N, s) are those of its nodes."""
    return GrownNodes(
        tree.children_left, tree.children_right, tree.feature, tree.threshold, sums, sums
    )


def sums_of(fitted, columns, sums):
    return np.asarray(fitted.decision_path(columns.astype(np.float32)).T @ sums)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_tree_is_pruned_as_scikit_learn_prunes_it(kind, seed):
    is_of_classes = kind == "classes"
    load = load_breast_cancer if is_of_classes else load_diabetes
    columns, target = load(return_X_y=True)
    some = np.random.default_rng(seed).choice(len(columns), 150, replace=False)
    columns, target = columns[some], target[some]
    learner = DecisionTreeClassifier if is_of_classes else DecisionTreeRegressor
    fitted = learner(random_state=seed, min_samples_leaf=3).fit(columns, target)
    if is_of_classes:
        impurity, each = gini, np.eye(2)[target]
    else:
        impurity, each = squared_error, np.stack([target**0, target, target**2], axis=1)
    nodes = as_grown(fitted.tree_, sums_of(fitted, columns, each))
    whole = float(impurity(nodes.sums[:1])[0]) / len(columns)
    theirs = fitted.cost_complexity_pruning_path(columns, target).ccp_alphas[1:]
    ours = pruning_path(nodes, impurity).penalty
    assert np.unique(ours.round(9)) * whole == pytest.approx(
        np.unique((theirs / whole).round(9)) * whole, abs=1e-6 * whole
    )
    for alpha in theirs[:-1]:
        pruned = learner(random_state=seed, min_samples_leaf=3, ccp_alpha=alpha * (1 + 1e-6))
        expected = pruned.fit(columns, target).get_n_leaves()
        assert prune(nodes, impurity, alpha / whole * (1 + 1e-6)).leaf_count == expected


def test_splits_that_noise_made_are_pruned_and_true_ones_are_kept():
    draw = np.random.default_rng(0)
    columns = draw.random((400, 4))
    codes = np.where(draw.random(400) < 0.8, columns[:, 0] > 0.5, draw.random(400) < 0.5).astype(
        int
    )
    records = records_of(columns, codes)
    nodes = grow(records, FREE, draw)
    pruned = prune(nodes, gini, choose_penalty(records, nodes, FREE, brier, 5, draw))
    assert nodes.leaf_count > 8 >= pruned.leaf_count >= 2
    assert (pruned.feature[0], round(pruned.threshold[0], 1)) == (0, 0.5)


def test_the_last_split_is_never_pruned_and_where_no_fold_drew_a_cut_nothing_is():
    draw = np.random.default_rng(0)
    records = records_of(draw.random((60, 2)), draw.integers(0, 2, 60))
    nodes = grow(records, FREE, draw)
    assert prune(nodes, gini, np.inf).leaf_count == 2
    blind = GrowthRule(gini, FREE.allowed, 8, 1e-12)
    assert choose_penalty(records, nodes, blind, brier, 5, draw) < 0
    assert prune(nodes, gini, -1.0).leaf_count == nodes.leaf_count
    only = grow(records, blind, draw)
    assert prune(only, gini, choose_penalty(records, only, FREE, brier, 5, draw)).leaf_count == 1


def test_losses_are_those_of_records_one_by_one():
    known, held_out = np.array([[3.0, 1.0], [0.0, 5.0]]), np.array([[2.0, 1.0], [1.0, 0.0]])
    one_by_one = [
        2 * (0.25**2 + 0.25**2) + (0.75**2 + 0.75**2),
        1.0 + 1.0,
    ]
    assert brier(known, held_out) == pytest.approx(one_by_one)
    numbers = np.array([1.0, 4.0, 6.0])
    sums = np.array([[3.0, numbers.sum(), (numbers**2).sum()]])
    mean_of_known = np.array([[2.0, 10.0, 60.0]])
    assert squared_distance(mean_of_known, sums) == pytest.approx([((numbers - 5) ** 2).sum()])
