"""Small tables and trees with labels and impurities at any node, and all tables that obey them: the judge of both.

Shares no arithmetic with the product: impurities are computed here anew, for all tables at once.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from tests.judges.worlds_by_hand import tree_of
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.nodes import BITS, printed
from treewarden.ppdm_models.tree.tree import Criterion


def random_case(seed, *, classes=2, impurities=0.0, labels=0.7):
    """Return a case whose nodes publish labels and rounded impurities of a random table, and no counts."""
    draw = np.random.default_rng(seed)
    profiles = int(draw.integers(3, 7 if classes == 2 else 5))
    counts = draw.integers(1, 4 if profiles < 5 else 3, size=profiles)
    bias = draw.dirichlet(np.ones(classes), size=profiles)
    truth = np.array([draw.multinomial(n, p) for n, p in zip(counts, bias, strict=True)])
    tree, stops = tree_of(_shape(draw, list(range(profiles))), classes)
    people = Population(
        ("who",),
        {
            "who": CategoricalColumn(
                codes=np.arange(profiles), categories=tuple(map(str, range(profiles)))
            )
        },
        counts.astype(float),
        stops,
        truth.astype(float),
    )
    own = members(tree, stops)
    criterion = Criterion.GINI if seed % 2 else Criterion.ENTROPY
    decimals = int(draw.integers(1, 4))
    nodes = []
    for node in tree.nodes:
        total = truth[own.profiles_at(node.index)].sum(axis=0)
        if draw.random() < labels:
            node = replace(node, score=tree.classes[int(total.argmax())])
        if draw.random() < impurities:
            unit = BITS if criterion is Criterion.ENTROPY else 1.0
            value = round(float(mixed(criterion, total[None])[0] / unit), decimals)
            node = replace(node, impurity=printed(criterion, value, decimals, unit))
        nodes.append(node)
    return Case(replace(tree, nodes=tuple(nodes)), people, own, Knowledge(split="none"))


def _shape(draw, profiles):
    if len(profiles) == 1 or (len(profiles) < 4 and draw.random() < 0.4):
        return profiles
    cut = int(draw.integers(1, len(profiles)))
    return [_shape(draw, profiles[:cut]), _shape(draw, profiles[cut:])]


def mixed(criterion, totals):
    """Return the impurity of each row of class counts, in nats for entropy."""
    shares = totals / totals.sum(axis=-1, keepdims=True)
    if criterion is Criterion.GINI:
        return (shares * (1 - shares)).sum(axis=-1)
    return (shares * np.log(1 / np.where(shares > 0, shares, 1))).sum(axis=-1)


def all_tables(case):
    """Return every table of whole records that obeys what the nodes publish, shape (T, P, m)."""
    m = len(case.tree.classes)
    ways = [
        [row for row in itertools.product(range(int(n) + 1), repeat=m) if sum(row) == n]
        for n in case.population.counts
    ]
    places = np.array(list(itertools.product(*(range(len(way)) for way in ways))))
    tables = np.stack([np.array(way)[places[:, q]] for q, way in enumerate(ways)], axis=1)
    for node in case.tree.nodes:
        totals = tables[:, case.members.profiles_at(node.index)].sum(axis=1)
        keep = np.ones(len(tables), dtype=bool)
        if node.score is not None:
            keep &= totals[:, case.tree.classes.index(node.score)] == totals.max(axis=1)
        if node.impurity is not None:
            found = mixed(node.impurity.criterion, totals.astype(float))
            keep &= (node.impurity.low - 1e-9 <= found) & (found <= node.impurity.high + 1e-9)
        tables = tables[keep]
    return tables
