"""scikit-learn trees grown on the real data sets beside the checkout, as trees of this project."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from tests.kit import places
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Learner,
    Node,
    Tree,
)

DATA = places.SHARED / "data"


def heart():
    """Return the complete rows of heart_cleveland and whether each has the disease."""
    return _read("heart_cleveland.csv", "num", lambda value: "yes" if float(value) > 0 else "no")


def german():
    return _read("german_credit.csv", None, str)


def _read(name, target, label):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    header, rows = rows[0], [row for row in rows[1:] if not {"", "?", "NA"} & set(row)]
    at = header.index(target) if target else len(header) - 1
    columns = {}
    for place, column in enumerate(header):
        if place != at:
            columns[column] = _numbers([row[place] for row in rows])
    return columns, [label(row[at]) for row in rows]


def _numbers(values):
    try:
        return np.array([float(value) for value in values])
    except ValueError:
        known = sorted(set(values))
        return np.array([float(known.index(value)) for value in values])


def grow_tree(columns, labels, knowledge=None, *, qi=None, **settings):
    """Return the case of a scikit-learn tree (random_state 0) with its class counts published.

    The quasi-identifiers ``qi`` are the columns of the tree, or, where it is given, others beside some of these.
    """
    sklearn = pytest.importorskip("sklearn.tree")
    names = list(columns)
    model = sklearn.DecisionTreeClassifier(random_state=0, **settings)
    model.fit(np.stack([columns[name] for name in names], axis=1), labels)
    classes = tuple(str(name) for name in model.classes_)
    inner, nodes = model.tree_, []

    def add(old, parent, test):
        number = len(nodes)
        nodes.append(None)
        records = float(inner.n_node_samples[old])
        counts = tuple(float(c) for c in np.rint(inner.value[old][0] * records))
        children = ()
        if inner.children_left[old] >= 0:
            name, cut = names[inner.feature[old]], float(inner.threshold[old])
            left = add(
                inner.children_left[old], number, NumericTest(name, high=cut, high_closed=True)
            )
            right = add(inner.children_right[old], number, NumericTest(name, low=cut))
            children = (left, right)
        nodes[number] = Node(
            number,
            str(number),
            parent,
            children,
            test or Always(),
            classes[int(np.argmax(counts))],
            records,
            counts,
        )
        return number

    add(0, None, None)
    tree = Tree(
        tuple(nodes),
        tuple(Feature(name, numeric=True, single=True) for name in names),
        "class",
        classes,
        learner=Learner(
            Criterion(settings.get("criterion", "gini")), settings.get("min_samples_leaf", 1)
        ),
    )
    at = {name: np.arange(len(labels)) % 3 for name in qi or () if name not in columns}
    table = table_of({**columns, **at, "class": labels})
    people = build_population(tree, table, sensitive="class", qi=qi)
    known = knowledge or Knowledge(leaf="counts", split=settings.get("criterion", "gini"))
    return Case(tree, people, members(tree, people.leaf), known)
