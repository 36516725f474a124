"""A fitted scikit-learn tree with some of its nodes made leaves: the same estimator, pruned."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from treewarden.api.training import final_of
from treewarden.ppdm_models.tree.tree import Tree

NONE, UNDEFINED = -1, -2
"""What scikit-learn writes for the children of a leaf, and for what a leaf would compare."""


def pruned_copy(estimator: Any, tree: Tree) -> Any | None:  # noqa: ANN401  # of a library that is no dependency
    """Return a copy of an estimator, or of a pipeline that ends in one, cut back to ``tree``.

    Nodes are found by their numbers in the estimator, which name them in the tree. None where the tree is not what
    is left when some nodes become leaves. Its predictions are for the caller to check.
    """
    final = final_of(estimator)[0]
    grown = getattr(final, "tree_", None)
    names = {leaf.name for leaf in tree.leaves}
    if grown is None or not all(name.isdecimal() for name in names):
        return None
    leaves = {int(name) for name in names}
    kept = _kept(grown, leaves)
    ends = {node for node in kept if node in leaves or grown.children_left[node] == NONE}
    if ends != leaves or len(kept) != len(tree.nodes):
        return None
    found = copy.deepcopy(estimator)
    final_of(found)[0].tree_ = _cut(grown, kept, leaves)
    return found


def _kept(grown: Any, leaves: set[int]) -> list[int]:  # noqa: ANN401  # see above
    """Return the nodes that stay, each before its children, the left one first."""
    kept, stack = [], [0]
    while stack:
        node = stack.pop()
        kept.append(node)
        if node not in leaves and grown.children_left[node] != NONE:
            stack += [int(grown.children_right[node]), int(grown.children_left[node])]
    return kept


def _cut(grown: Any, kept: list[int], leaves: set[int]) -> Any:  # noqa: ANN401  # see above
    make, arguments, state = grown.__reduce__()
    place = {node: number for number, node in enumerate(kept)}
    nodes = state["nodes"][kept].copy()
    depth = np.zeros(len(kept), dtype=int)
    for number, node in enumerate(kept):
        is_leaf = node in leaves or grown.children_left[node] == NONE
        for side in ("left_child", "right_child"):
            nodes[side][number] = NONE if is_leaf else place[int(nodes[side][number])]
        if is_leaf:
            nodes["feature"][number], nodes["threshold"][number] = UNDEFINED, UNDEFINED
            if "missing_go_to_left" in (nodes.dtype.names or ()):
                nodes["missing_go_to_left"][number] = 0
        else:
            below = [int(nodes[side][number]) for side in ("left_child", "right_child")]
            depth[below] = depth[number] + 1
    cut = make(*arguments)
    said = {"nodes": nodes, "values": state["values"][kept].copy(), "node_count": len(kept)}
    cut.__setstate__({**state, **said, "max_depth": int(depth.max())})
    return cut
