"""Which nodes of a tree are drawn: all, or in a large tree only what leads to the nodes at risk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewarden.reports.document.parts import TreeNode
from treewarden.reports.document.words import counted

MOST_LEAVES = 150


@dataclass(frozen=True, slots=True)
class Selection:
    """The drawn nodes in document order, each with its drawn children and its depth.

    ``stubs`` are the drawn nodes that stand for all below them, in words; ``note`` says what was left out.
    """

    children: Mapping[int, tuple[int, ...]]
    depth: Mapping[int, int]
    stubs: Mapping[int, str]
    note: str

    @property
    def order(self) -> tuple[int, ...]:
        """The drawn nodes, each parent before its children."""
        return tuple(self.children)

    @property
    def ends(self) -> tuple[int, ...]:
        """The drawn nodes without drawn children, top to bottom."""
        return tuple(index for index, below in self.children.items() if not below)


def select(nodes: Sequence[TreeNode]) -> Selection:
    """Return the nodes to draw: all in a tree of up to ``MOST_LEAVES`` leaves, else the paths to the riskiest."""
    below: dict[int, list[int]] = {node.index: [] for node in nodes}
    for node in nodes:
        if node.parent is not None:
            below[node.parent].append(node.index)
    leaves = _leaves_below(below, nodes)
    root = nodes[0].index
    opened, note = set(below), ""
    if leaves[root] > MOST_LEAVES:
        opened, note = _paths_to_risk(nodes, leaves[root])
    children: dict[int, tuple[int, ...]] = {}
    depth: dict[int, int] = {root: 0}
    stack = [root]
    while stack:
        index = stack.pop()
        children[index] = tuple(below[index]) if index in opened else ()
        depth |= dict.fromkeys(children[index], depth[index] + 1)
        stack.extend(reversed(children[index]))
    stubs = {
        index: f"({leaves[index]:,} leaves)"
        for index, drawn in children.items()
        if below[index] and not drawn
    }
    return Selection(children, depth, stubs, note)


def _leaves_below(below: Mapping[int, Sequence[int]], nodes: Sequence[TreeNode]) -> dict[int, int]:
    leaves: dict[int, int] = {}
    for node in reversed(nodes):
        leaves[node.index] = sum(leaves[child] for child in below[node.index]) or 1
    return leaves


def _paths_to_risk(nodes: Sequence[TreeNode], leaves: int) -> tuple[set[int], str]:
    parent = {node.index: node.parent for node in nodes}
    ranks = {node.index: node.rank for node in nodes if node.rank is not None}
    ranked = sorted(ranks, key=lambda index: ranks[index])
    opened = {nodes[0].index}
    for index in ranked[:MOST_LEAVES]:
        above = parent[index]
        while above is not None and above not in opened:
            opened.add(above)
            above = parent[above]
    said = f"The tree has {leaves:,} leaves, too many to draw."
    if not ranked:
        return opened, f"{said} None of them is marked, so only the top is shown."
    most = f"the {MOST_LEAVES} riskiest of the " if len(ranked) > MOST_LEAVES else "the "
    marked = counted(len(ranked), "marked leaf", "marked leaves")
    return opened, f"{said} Shown are the paths to {most}{marked}; the rest is folded up."
