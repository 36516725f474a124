"""Settings of a learner that its own tree contradicts: who believed them would take fewer splits for compared."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from treewarden.audit.facts.kind import Dropped
from treewarden.audit.people.population import Population
from treewarden.ppdm_models.tree.node_columns import is_inner, where_of
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.tree import Tree


def setting_contradictions(tree: Tree, people: Population) -> Iterator[Dropped]:
    """Yield the settings that the file names and that the tree, or who is where in it, contradicts.

    A table may hold more people than the learner saw, as it left incomplete ones out, never fewer: so a leaf that is
    too small is so in any case. Weighted records are not judged.
    """
    learner, stopping = tree.learner, tree.learner.stopping
    if people.is_absent or people.weight is not None or learner.saw_noise:
        return
    inner, parents = is_inner(tree), parents_of(tree.nodes)
    here = np.bincount(people.leaf, people.counts, len(tree.nodes))
    depth = np.zeros(len(tree.nodes), dtype=np.intp)
    for node in range(1, len(parents)):
        depth[node] = depth[parents[node]] + 1
    passing = here.copy()
    for node in range(len(parents) - 1, 0, -1):
        passing[parents[node]] += passing[node]
    least = learner.min_leaf_records
    limits = [(~inner & (here > 0) & (here < least), f"leaves hold {least} records at least")]
    if stopping is not None:
        split, deepest, most = stopping.min_split_records, stopping.max_depth, stopping.max_leaves
        is_small = inner & (passing > 0) & (passing < split)
        limits.append((is_small, f"nodes of fewer than {split} records are not split"))
        if deepest is not None:
            limits.append((depth > deepest, f"nothing is below {deepest} tests"))
        if most is not None and tree.leaf_count > most:
            limits.append((~inner, f"there are {most} leaves at most"))
    for is_beyond, limit in limits:
        beyond = np.flatnonzero(is_beyond)
        if len(beyond):
            said = f"{where_of(tree, int(beyond[0]))}: the file says that {limit}"
            yield Dropped("learner", said, "this tree does not keep to it", True)
