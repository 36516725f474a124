"""Anonymity-based pruning: what fails a requirement is merged with its siblings, bottom-up, until every leaf meets it.

Algorithm APT of Sharkey, Tian, Zhang & Xu (2008), section 3.2. A child that fails is merged with the siblings under the
same value of a hierarchy, then under the next one up, and at last with all; of numeric intervals it is merged with the
neighbour that holds fewer records. Where nothing says which siblings belong together it is merged with all at once.
"""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray
from treewarden.ppdm_models.pruning.cut import Prunable, Pruned, cut
from treewarden.ppdm_models.pruning.siblings import Groups, Runs


def prune(prunable: Prunable) -> Pruned | None:
    """Return the tree in which every leaf satisfies the requirement, or None where that is the empty tree.

    The tree is empty where fewer leaves are left than it needs (``Prunable.fewest_leaves``).
    """
    kept = np.array(prunable.stays)
    chosen: list[int] = []
    for node in reversed(prunable.tree.nodes):
        if node.is_leaf:
            continue
        merged: list[int] | None = [] if prunable.stays[node.index] else None
        failing = [child for child in node.children if not kept[child]]
        if failing and merged is not None:
            merged = _mended(prunable, node.index, failing, kept)
        if merged is None:
            merged = [node.index]
        kept[node.index] = prunable.satisfied[merged].all() if merged else True
        chosen += merged
    return cut(prunable, chosen) if kept[0] else None


def _mended(prunable: Prunable, node: int, failing: list[int], kept: BoolArray) -> list[int] | None:
    """Return the groups that mend a node's failing children; None where all must be merged into one."""
    way = prunable.candidates.ways.get(node)
    if isinstance(way, Groups):
        return _grouped(prunable, way, failing)
    return _run_together(prunable, way, kept) if isinstance(way, Runs) else None


def _grouped(prunable: Prunable, way: Groups, failing: list[int]) -> list[int] | None:
    """Climb from each failing child to the lowest group around it that satisfies."""
    found: dict[int, None] = {}
    for child in failing:
        group = way.place[child]
        while group and not prunable.satisfied[way.numbers[group]]:
            group = way.parent[group]
        if not group:
            return None
        found[group] = None
    return [way.numbers[group] for group in found if not _is_inside(way, group, found)]


def _is_inside(way: Groups, group: int, others: dict[int, None]) -> bool:
    while group:
        group = way.parent[group]
        if group in others:
            return True
    return False


def _run_together(prunable: Prunable, way: Runs, kept: BoolArray) -> list[int] | None:
    """Merge the first run that fails with the smaller of its neighbours, until none does."""
    ends = list(range(len(way.children) + 1))

    def number(i: int) -> int:
        run = ends[i], ends[i + 1]
        return way.numbers[run] if run in way.numbers else way.children[run[0]]

    def fails(i: int) -> bool:
        at = number(i)
        return not (kept[at] if ends[i + 1] - ends[i] == 1 else prunable.satisfied[at])

    while len(ends) > 2:
        worst = next((i for i in range(len(ends) - 1) if fails(i)), None)
        if worst is None:
            return [number(i) for i in range(len(ends) - 1) if ends[i + 1] - ends[i] > 1]
        beside = [i for i in (worst - 1, worst + 1) if 0 <= i < len(ends) - 1]
        smaller = min(beside, key=lambda i: prunable.records[number(i)])
        del ends[max(worst, smaller)]
    return None
