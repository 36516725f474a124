"""Cases of which many questions reach the solvers, and all that is said of one as bytes."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np

from tests.kit.grown_trees import grow_tree
from treewarden.audit.consistent_tables.result import Tiers
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.system.system import build_system

FEW_WORLDS = Tiers(enumerate=None, propagate=False, draws=0, most_draws=0, swaps=False)
"""Nothing but the true table and what solvers find: so they are asked of nearly every cell."""


@cache
def made(classes, leaf="counts", criterion="gini", leaves=16, records=60):
    """Return the system of a tree of so many classes that splits say much of."""
    draw = np.random.default_rng(5)
    columns = {f"x{i}": draw.integers(9, size=records).astype(float) for i in range(4)}
    score = columns["x0"] + columns["x1"] * (columns["x2"] > 2) + 2 * draw.normal(size=records)
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    labels = [f"c{k}" for k in np.searchsorted(cuts, score)]
    known = Knowledge(leaf=leaf, split=criterion)
    return build_system(
        grow_tree(columns, labels, known, criterion=criterion, max_leaf_nodes=leaves)
    )


def said(worlds):
    """Return all that is proved, found and said, as bytes."""
    ends = (worlds.low, worlds.high, worlds.reached_low, worlds.reached_high)
    words = (sorted(worlds.reasons.items()), worlds.left, worlds.left_of_values, worlds.not_decided)
    seen = [(each.profile, each.says, each.table.tobytes()) for each in worlds.witnesses]
    return pickle.dumps(([end.tobytes() for end in ends], words, seen))
