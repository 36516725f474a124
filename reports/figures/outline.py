"""The tree as a list that folds: what is drawn in the picture, readable on a narrow screen, by touch and in print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.document.parts import TreeNode
from reports.figures.selection import Selection, select

OPEN_LEVELS = 3
"""So many levels are unfolded at first."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A node with what is below it; ``said`` is its test, ``more`` what a leaf holds or a folded part stands for."""

    said: str
    more: str
    risk: str
    clauses: tuple[str, ...]
    is_open: bool
    below: tuple[Branch, ...]


def outline(nodes: Sequence[TreeNode]) -> Branch:
    """Return the tree from its root, as far as it is drawn."""
    kept = select(nodes)
    node = {each.index: each for each in nodes}
    made: dict[int, Branch] = {}
    for index in reversed(kept.order):
        below = tuple(made.pop(child) for child in kept.children[index])
        made[index] = _branch(node[index], kept, below)
    return made[nodes[0].index]


def _branch(node: TreeNode, kept: Selection, below: tuple[Branch, ...]) -> Branch:
    records = f"{node.records_text} {'record' if node.records_text == '1' else 'records'}"
    more = records if below else f"{records}; “{node.label}”, true of {node.label_share_text}"
    return Branch(
        said=node.test or "every record",
        more=kept.stubs.get(node.index, more),
        risk=node.risk,
        clauses=node.clauses,
        is_open=kept.depth[node.index] < OPEN_LEVELS,
        below=below,
    )
