"""Trees of plain two-way splits on numbers, as columns: most learners write no others, and forests hold millions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.tree.cuts import Cuts, Flags, Wholes
from treewarden.ppdm_models.tree.node import Node
from treewarden.ppdm_models.tree.node_table import NodeTable
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """The parent of each node, -1 at the root, and the cut that leads to it; all of shape (N,).

    Every inner node has two children: one for the numbers of a feature below an end, and one for the others. No test is
    at the root, and all ends are finite.
    """

    parents: Wholes
    cuts: Cuts

    @property
    def inner(self) -> Flags:
        """Whether each node has children."""
        found = np.zeros(len(self.parents), dtype=np.bool_)
        found[self.parents[1:]] = True
        return found

    @property
    def depth(self) -> int:
        """The number of tests on the longest path."""
        here, depth = np.flatnonzero(~self.inner), -1
        while len(here):
            above = self.parents[here]
            here, depth = np.unique(above[above >= 0]), depth + 1
        return depth


def plain_of(tree: Tree) -> Plain | None:
    """Return a tree as columns; None where it has other splits. No node is made where there are columns already."""
    nodes = tree.nodes
    if isinstance(nodes, NodeTable):
        parents, cuts = nodes.parents, nodes.tests
        if not isinstance(cuts, Cuts) or not _only_root_is_other(cuts):
            return None
    else:
        found = _cuts_of(nodes, tuple(feature.name for feature in tree.features))
        if found is None:
            return None
        parents, cuts = np.array([-1, *(node.parent for node in nodes[1:])]), found
    if not np.isfinite(cuts.ends[1:]).all() or not cuts.plainly_split(parents):
        return None
    return Plain(parents, cuts)


def _only_root_is_other(cuts: Cuts) -> bool:
    """Return whether every node but the root is led to by a cut, and the root by no test at all."""
    if cuts.others:
        return set(cuts.others) == {0} and isinstance(cuts.others[0], Always)
    return bool(cuts.features[0] < 0)


def _cuts_of(nodes: Sequence[Node], names: tuple[str, ...]) -> Cuts | None:
    """Return the tests of nodes as columns; None where one of them compares with another number than one."""
    if not isinstance(nodes[0].test, Always):
        return None
    place = {name: index for index, name in enumerate(names)}
    size = len(nodes)
    features, ends = [-1] * size, [0.0] * size
    upper, closed = [False] * size, [False] * size
    for index, node in enumerate(nodes):
        test = node.test
        if not index:
            continue
        if not isinstance(test, NumericTest) or test.feature not in place:
            return None
        is_above = test.low > -math.inf
        if is_above == (test.high < math.inf):
            return None
        features[index], upper[index] = place[test.feature], is_above
        ends[index] = test.low if is_above else test.high
        closed[index] = not test.low_closed if is_above else test.high_closed
    columns = (np.array(features), np.array(ends), np.array(upper), np.array(closed))
    return Cuts(names, *columns, {})
