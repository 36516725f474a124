"""Boosted models over small tables: what is found in their leaves, held against the labels that they were grown on."""

import numpy as np

from tests.ppdm_models.formats.boosted import columns_of
from treewarden.audit.inverters import GrownCase, LeafSums, leaf_sums
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tables.routing import route


def case_of(model, table):
    """Return the case of a model over the rows of a table, each of which is a person."""
    trees = tuple(model.trees)
    columns = columns_of(model, table)
    stops = np.stack([route(tree, columns) for tree in trees])
    people, classes = np.ones(len(table)), len(model.classes)
    return GrownCase(model.growth, trees, stops, people, classes, columns=columns)


def found(model, table):
    return leaf_sums(case_of(model, table))


def truth(model, table, labels, sums):
    """Return how many of the people of each leaf have the class that is counted there."""
    stops = case_of(model, table).stops
    return np.array(
        [
            (labels[stops[tree] == node] == output).sum()
            for tree, node, output in zip(sums.trees, sums.nodes, sums.output, strict=True)
        ]
    )


def table_of(seed=0, rows=80, classes=2):
    """Return whole numbers in three columns, and labels that they say something of."""
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 9, (rows, 3)).astype(float)
    score = table[:, 0] + 2 * table[:, 1] + draw.normal(0, 4, rows)
    labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes + 0.07))
    return table, labels.astype(float)


def reason(model, table):
    """Return why a model says nothing that is certain."""
    sums = found(model, table)
    assert isinstance(sums, Undetermined)
    return sums.reason


def check_exact(model, table, labels):
    """Check that every leaf of every tree is told, exactly; return the sums."""
    sums = check_sound(model, table, labels)
    assert (sums.low == sums.high).all()
    assert sums.wide.max() < 0.01
    leaves = sum(len(tree.leaves) for tree in model.trees if len(tree.nodes) > 1)
    assert len(sums.low) == leaves
    return sums


def check_sound(model, table, labels):
    """Check that no leaf holds another number of people with a class than is told; return the sums."""
    sums = found(model, table)
    assert isinstance(sums, LeafSums), sums.reason
    true = truth(model, table, labels, sums)
    assert ((sums.low <= true) & (true <= sums.high)).all()
    return sums
