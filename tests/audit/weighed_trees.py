"""Small scikit-learn trees grown with the weights of a survey, and all class columns that obey them by brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn


def weighed_tree(ages, classes, weights, **settings):
    """Return the tree that scikit-learn grows on one column with sample weights, and the table.

    It does not say why it stopped.
    """
    sklearn = pytest.importorskip("sklearn.tree")
    model = sklearn.DecisionTreeClassifier(random_state=0, **settings)
    model.fit(np.array(ages, dtype=float)[:, None], classes, weights)
    tree = from_sklearn(model, ["age"], [str(name) for name in model.classes_], "ill")
    tree = replace(tree, learner=replace(tree.learner, stopping=None))
    return tree, table_of({"age": ages, "ill": classes, "w": weights})


def people_of(tree, table):
    return build_population(tree, table, sensitive="ill", sampling_weights="w")


def sums_agree(tree, sums):
    """Whether the weights of each class sum to what each leaf publishes, to 9 digits."""
    told = [tree.nodes[node].class_counts for node in sums]
    return np.allclose(list(sums.values()), told, rtol=1e-9, atol=0)


def leads(tree, sums):
    """Whether in each leaf no class has more weight than its label, but for rounding."""
    return all(
        each[tree.classes.index(tree.nodes[node].score)] >= each.max() - 1e-9
        for node, each in sums.items()
    )


def fitting_columns(tree, ages, weights, fits=sums_agree):
    """Return every class column whose weights per leaf and class fit what the tree says."""
    leaf = route(tree, {"age": NumericColumn(np.array(ages, dtype=float))})
    held = np.unique(leaf)
    found = []
    for column in itertools.product(range(len(tree.classes)), repeat=len(weights)):
        sums = np.zeros((len(tree.nodes), len(tree.classes)))
        np.add.at(sums, (leaf, list(column)), weights)
        if fits(tree, {int(node): sums[node] for node in held}):
            found.append(column)
    return np.array(found)


def people_forced(columns, ages, weights):
    """Return how many people have one class in every column: those alike in age and weight, all together."""
    alike = {}
    for person, key in enumerate(zip(ages, weights, strict=True)):
        alike.setdefault(key, []).append(person)
    return sum(len(group) for group in alike.values() if len(np.unique(columns[:, group])) == 1)
