"""Learners compare their limits with rows, whatever these weigh: also with rows of weight 0, who are nobody."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from treewarden.audit.population.table_counts import RowWeights, Weights, weighing
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of

AGES = np.array([0.0, 1.0, 2.0, 3.0])
ILL = np.array(["no", "yes", "no", "no"])
NOBODY = 6


def tree_of(ages, labels, weights, **settings):
    """Return the tree that scikit-learn grows on one column."""
    model = DecisionTreeClassifier(max_depth=1, random_state=0, **settings)
    return model.fit(pd.DataFrame({"age": ages}), labels, sample_weight=weights)


def published(model):
    """Return what a reader of the tree sees."""
    arrays = model.tree_.threshold, model.tree_.value, model.tree_.weighted_n_node_samples
    return [array.tolist() for array in arrays]


def with_nobody(labels, size=NOBODY):
    """Return ages, labels and weights of people, and of rows with weight 0."""
    ages = np.concatenate([AGES, np.full(size, 3.0)])
    weights = np.concatenate([np.ones(len(AGES)), np.zeros(size)])
    return ages, np.concatenate([labels, np.full(size, "no")]), weights


def bounds_of(model, ages, labels, weights, option, **options):
    """Return between which numbers the product leaves the ill people of each age, (P, 2)."""
    table = pd.DataFrame({"age": ages, "ill": labels, "w": weights})
    options |= {option: "w", "jobs": 1, "levels": False}
    result = tw.audit(model, table, sensitive="ill", **options)
    worlds = result._audit.full.evidence.worlds
    return np.stack([worlds.low[:, 1], worlds.high[:, 1]], axis=1)


@pytest.mark.parametrize("option", ["sampling_weights", "weights"])
def test_no_table_that_grows_the_tree_is_ruled_out_where_rows_weigh_nothing(option):
    settings = {"min_samples_leaf": 0.2}
    ages, labels, weights = with_nobody(ILL)
    model = tree_of(ages, labels, weights, **settings)
    bounds, grown = bounds_of(model, ages, labels, weights, option), 0
    for guess in itertools.product(["no", "yes"], repeat=len(AGES)):
        same = with_nobody(np.array(guess))
        if published(tree_of(*same, **settings)) == published(model):
            ill, grown = np.array(guess) == "yes", grown + 1
            assert (bounds[:, 0] <= ill).all(), guess
            assert (ill <= bounds[:, 1]).all(), guess
    assert grown > 0


def test_no_table_that_grows_the_tree_is_ruled_out_where_a_row_is_several_people():
    weights = np.full(len(AGES), 2.0)
    model = tree_of(AGES, ILL, weights, min_samples_leaf=2)
    other = np.array(["yes", "no", "no", "no"])
    assert published(tree_of(AGES, other, weights, min_samples_leaf=2)) == published(model)
    bounds = bounds_of(model, AGES, ILL, weights, "weights")
    assert bounds[0].tolist() == [0, 2]


def test_a_leaf_may_have_too_few_rows_to_be_split_though_not_too_few_people():
    ages, labels, weights = with_nobody(np.full(len(AGES), "no"))
    labels[len(AGES) :] = "yes"
    settings = {"min_samples_split": 0.6, "random_state": 0}
    model = DecisionTreeClassifier(**settings)
    model.fit(pd.DataFrame({"age": ages}), labels, sample_weight=weights)
    other = np.concatenate([ILL, labels[len(AGES) :]])
    grown = DecisionTreeClassifier(**settings)
    assert grown.fit(ages[:, None], other, sample_weight=weights).tree_.node_count == 1
    bounds = bounds_of(model, ages, labels, weights, "weights", leaf="labels")
    assert bounds[1].tolist() == [0, 1]


def test_a_class_may_be_that_of_a_row_with_weight_0():
    ages, weights = np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0])
    table = pd.DataFrame({"age": ages, "ill": ["no", "yes", "yes"], "w": weights})
    model = DecisionTreeClassifier().fit(table[["age"]], table["ill"], sample_weight=weights)
    result = tw.audit(
        model, table, sensitive="ill", sampling_weights="w", leaf="labels", jobs=1, levels=False
    )
    assert result._audit.full.evidence.worlds.low[0, 1] == 0


def test_a_share_is_of_rows_and_not_of_their_weights():
    weights = np.full(len(AGES), 50.0)
    tree = from_sklearn(tree_of(AGES, ILL, weights, min_samples_leaf=0.3, min_samples_split=0.6))
    assert tree.learner.min_leaf_records == 2
    assert tree.learner.stopping.min_split_records == 3


def test_a_share_of_the_weights_of_classes_says_nothing_of_records():
    settings = {"class_weight": {"no": 1, "yes": 9}, "min_weight_fraction_leaf": 0.2}
    model = tree_of(AGES, ILL, None, **settings)
    assert from_sklearn(model).learner.min_leaf_records == 1


def test_a_weighing_counts_rows_of_nobody_and_the_people_of_a_row():
    table = table_of({"w": [3, 0, 0, 1]})
    frequencies, sampling = weighing(table, "w", None), weighing(table, None, "w")
    assert frequencies.rows == RowWeights(Weights.FREQUENCIES, heaviest=3, excluded=2)
    assert sampling.rows == RowWeights(Weights.SAMPLING, excluded=2)
