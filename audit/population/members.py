"""Which profiles pass each node: those that stop there or further down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Members:
    """Profiles in the order of the nodes where they stop, so that each subtree is one slice."""

    order: IndexArray
    start: IndexArray
    end: IndexArray
    own_end: IndexArray

    def of(self, node: int) -> IndexArray:
        """Return the profiles that pass a node, shape (K,)."""
        return self.order[self.place(node)]

    def place(self, node: int) -> slice:
        """Return where the profiles that pass a node lie in what is put in this order."""
        return slice(int(self.start[node]), int(self.end[node]))

    def stops(self, node: int) -> IndexArray:
        """Return the profiles that stop at a node, shape (K,)."""
        return self.order[self.start[node] : self.own_end[node]]


def members(tree: Tree, leaf: IndexArray) -> Members:
    """Return the profiles of every node, given the node where each profile stops, shape (P,)."""
    rank = np.zeros(len(tree.nodes), dtype=np.intp)
    for position, node in enumerate(tree.below(0)):
        rank[node.index] = position
    size = np.ones(len(tree.nodes), dtype=np.intp)
    for node in reversed(tree.nodes):
        if node.parent is not None:
            size[node.parent] += size[node.index]
    order = np.argsort(rank[leaf], kind="stable")
    ranked = rank[leaf][order]
    return Members(
        order,
        np.searchsorted(ranked, rank, side="left").astype(np.intp),
        np.searchsorted(ranked, rank + size, side="left").astype(np.intp),
        np.searchsorted(ranked, rank, side="right").astype(np.intp),
    )
