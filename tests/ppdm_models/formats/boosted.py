"""Small helpers to compare boosted trees with what their tools say of the same records."""

from dataclasses import replace

import numpy as np

from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import atoms
from treewarden.ppdm_models.tree.tree import rebuilt

ROWS = 12_000
NEAR_ZERO = [0.0, -0.0, 1e-36, -1e-36, 1e-35, -1e-35, 2e-35, -2e-35]


def thresholds(model):
    """Return the ends that the trees compare each feature with."""
    found = {feature.name: {0.0} for feature in model.features}
    tests = (node.test for tree in model.trees for node in tree.nodes)
    for atom in (atom for test in tests for atom in atoms(test)):
        ends = (getattr(atom, "low", np.inf), getattr(atom, "high", np.inf))
        found.get(getattr(atom, "feature", ""), set()).update(
            end for end in ends if np.isfinite(end)
        )
    return [np.array(sorted(found[feature.name])) for feature in model.features]


def records(model, dtype, draw):
    """Return records on, just below and just above thresholds, near 0, anywhere, and with missing values."""
    columns = []
    for ends in thresholds(model):
        on = draw.choice(ends, ROWS).astype(dtype)
        choices = [
            on,
            np.nextafter(on, dtype(np.inf)),
            np.nextafter(on, dtype(-np.inf)),
            draw.normal(0, 2, ROWS).astype(dtype),
            draw.choice(NEAR_ZERO, ROWS).astype(dtype),
            np.full(ROWS, np.nan, dtype),
        ]
        columns.append(np.choose(draw.integers(0, len(choices), ROWS), choices))
    return np.column_stack(columns)


def columns_of(model, table):
    """Return the columns of a table of numbers; a categorical feature holds its codes."""
    return {
        feature.name: _column(feature, table[:, index].astype(np.float64))
        for index, feature in enumerate(model.features)
    }


def _column(feature, values):
    if feature.numeric:
        return NumericColumn(values)
    codes = np.where(np.isnan(values), -1, values).astype(np.int64)
    by_code = len(feature.values) > codes.max()  # else they are the codes themselves, some left out
    names = feature.values if by_code else tuple(map(str, range(codes.max() + 1)))
    return CategoricalColumn(codes=codes, categories=names)


def leaf_numbers(model, columns):
    """Return the number that each record's leaf has in the file, records x trees."""
    found = []
    for tree in model.trees:
        names = np.array([int(node.name.split()[-1]) for node in tree.nodes])
        assert all(tree.nodes[stop].is_leaf for stop in set(route(tree, columns).tolist()))
        found.append(names[route(tree, columns)])
    return np.column_stack(found)


def pruned(tree, position):
    """Return the tree with one inner node made a leaf, and its count and another leaf's withheld."""
    inner = [node for node in tree.nodes if not node.is_leaf]
    chosen = inner[position % len(inner)].index
    gone = {node.index for node in tree.below(chosen)} - {chosen}
    nodes = [node for node in tree.nodes if node.index not in gone]
    leaves = [node.index for node in nodes if node.is_leaf]
    hidden = {chosen, *leaves[-1:]}
    nodes = [replace(n, records=None) if n.index in hidden else n for n in nodes]
    leaf = {"children": (), "default_child": None, "score": 0.125}
    return rebuilt(tree, [replace(n, **leaf) if n.index == chosen else n for n in nodes])


def changed(model):
    """Return the model with each tree but the second pruned somewhere."""
    members = tuple(
        member if index == 1 else replace(member, model=pruned(member.model, index))
        for index, member in enumerate(model.members)
    )
    return replace(model, members=members)


def essence(model):
    """Return what must survive being written: the nodes, but for the numbers of inner ones and names."""
    return [
        [
            (node.test, node.children, node.records, node.score if node.is_leaf else None)
            for node in tree.nodes
        ]
        for tree in model.trees
    ]
