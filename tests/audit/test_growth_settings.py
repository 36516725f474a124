"""Settings of a learner that its own tree contradicts are not believed: nothing passes that rests on them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from treewarden.audit.exposures import setting_contradictions
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.tree import Stopping

AGES = list(range(20, 60))
ILL = ["yes" if age % 7 < 3 else "no" for age in AGES]
TABLE = table_of({"age": [float(age) for age in AGES], "ill": ILL})


def grown(**settings):
    fitted = DecisionTreeClassifier(random_state=0, **settings)
    fitted.fit(np.array(AGES)[:, None], ILL)
    return from_sklearn(fitted, feature_names=["age"], target="ill")


def told(tree):
    people = build_population(tree, TABLE, sensitive="ill")
    return [each.where for each in setting_contradictions(tree, people)]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"min_samples_leaf": 4},
        {"max_depth": 2},
        {"max_leaf_nodes": 3},
        {"min_samples_split": 9},
        {"min_samples_leaf": 0.1, "max_depth": 5},
    ],
)
def test_a_tree_keeps_to_the_settings_that_it_was_grown_with(settings):
    assert told(grown(**settings)) == []


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"min_leaf_records": 30}, "every leaf has at least 30 records"),
        ({"stopping": Stopping(max_depth=1)}, "no node is below 1 tests"),
        ({"stopping": Stopping(max_leaves=2)}, "there are 2 leaves at most"),
        ({"stopping": Stopping(min_split_records=30)}, "fewer than 30 records are not split"),
    ],
)
def test_a_setting_that_the_tree_contradicts_is_named(changes, limit):
    tree = grown(max_depth=3)
    (found,) = told(replace(tree, learner=replace(tree.learner, **changes)))
    assert limit in found
