"""Small scikit-learn trees grown with the weights of a survey, and all class columns that obey them by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from audit.population import build_population
from ppdm_models.predicate import Column
from ppdm_models.routing import route
from ppdm_models.sklearn_tree import from_sklearn
from ppdm_models.table import table_of


def weighed_tree(ages, classes, weights, **settings):
    """Return the tree that scikit-learn grows on one column with sample weights, and the table."""
    sklearn = pytest.importorskip("sklearn.tree")
    model = sklearn.DecisionTreeClassifier(random_state=0, **settings)
    model.fit(np.array(ages, dtype=float)[:, None], classes, weights)
    tree = from_sklearn(model, ["age"], [str(name) for name in model.classes_], "ill")
    return tree, table_of({"age": ages, "ill": classes, "w": weights})


def people_of(tree, table):
    return build_population(tree, table, sensitive="ill", sampling_weights="w")


def fitting_columns(tree, ages, weights):
    """Return every class column under which the weights of each class sum to what each leaf publishes, to 9 digits."""
    leaf = route(tree, {"age": Column(numbers=np.array(ages, dtype=float))})
    told = np.array([node.class_counts for node in tree.nodes])
    held = np.unique(leaf)
    found = []
    for column in itertools.product(range(len(tree.classes)), repeat=len(weights)):
        sums = np.zeros(told.shape)
        np.add.at(sums, (leaf, list(column)), weights)
        if np.allclose(sums[held], told[held], rtol=1e-9, atol=0):
            found.append(column)
    return np.array(found)


def people_forced(columns, ages, weights):
    """Return how many people have one class in every column: those alike in age and weight, all together."""
    alike = {}
    for person, key in enumerate(zip(ages, weights, strict=True)):
        alike.setdefault(key, []).append(person)
    return sum(len(group) for group in alike.values() if len(np.unique(columns[:, group])) == 1)
