"""The tree as a list that folds: what is drawn in the picture, readable on a narrow screen and by touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from treewarden.reports.document.parts import TreeNode
from treewarden.reports.figures.selection import select

OPEN_LEVELS = 3
"""So many levels are unfolded at first."""


@dataclass(frozen=True, slots=True)
class Step:
    """A node that opens a level, an end of the drawing, or the end of a level.

    ``said`` is the node's test, ``more`` what it holds, or what a folded part stands for.
    """

    kind: Literal["open", "end", "close"]
    said: str = ""
    more: str = ""
    node: TreeNode | None = None
    is_unfolded: bool = False


def outline(nodes: Sequence[TreeNode]) -> Iterator[Step]:
    """Yield a tree from its root as far as it is drawn, without recursion: a tree may be as deep as it has leaves."""
    kept = select(nodes)
    node = {each.index: each for each in nodes}
    waiting: list[int | None] = [nodes[0].index]
    while waiting:
        index = waiting.pop()
        if index is None:
            yield Step("close")
            continue
        here, below = node[index], kept.children[index]
        said = "every record" if here.parent is None else here.test
        records = f"{here.records_text} {'record' if here.records_text == '1' else 'records'}"
        if below:
            yield Step("open", said, records, here, kept.depth[index] < OPEN_LEVELS)
            waiting += [None, *reversed(below)]
        else:
            held = f"{records}; value {here.label}"
            if here.label_share_text:
                held = f"{records}; “{here.label}”, true of {here.label_share_text}"
            yield Step("end", said, kept.stubs.get(index, held), here)
