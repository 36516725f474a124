"""Optimal pruning: of all ways to merge siblings, the one that keeps most, and whose leaves all meet a requirement.

Exact dynamic programming, bottom-up, over the nodes and the ways in which their children may be merged: groups of a
hierarchy, or runs of numeric neighbours. Linear in the nodes and the candidates. Our own method; APT (Sharkey et al.
2008, section 3.2) chooses among the same merges greedily.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.pruning.cut import FEWEST_LEAVES, Prunable, Pruned, cut
from treewarden.ppdm_models.pruning.siblings import Groups, Runs

Worth = tuple[float, int]
"""What a part keeps of what is valued, then how many leaves it has."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The best that can be made of a part of the tree: its worth, the nodes kept as they are, and the merged leaves."""

    worth: Worth
    kept: tuple[int, ...]
    merged: tuple[int, ...]


def prune_optimally(prunable: Prunable, value: FloatArray, own: FloatArray) -> Pruned | None:
    """Return the tree of the highest value in which every leaf satisfies the requirement; None where there is none.

    ``value`` (N + G,) is what each candidate keeps as a leaf, ``own`` (N,) what those who stop at a node keep while it
    is split. Of equal ones the one with the most leaves; it has as many as the prunable tree needs at least.
    """
    plans: list[_Plan | None] = [None] * len(prunable.tree.nodes)
    must_split = _without_choice(prunable)
    for node in reversed(prunable.tree.nodes):
        here = node.index
        split = (
            None
            if node.is_leaf or not prunable.stays[here]
            else _split(prunable, here, plans, value)
        )
        if split is not None:
            worth = split.worth[0] + float(own[here]), split.worth[1]
            split = _Plan(worth, split.kept, split.merged)
        leaf = None if here in must_split else _leaf(prunable, here, value)
        plans[here] = _better(split, leaf)
    return None if plans[0] is None else cut(prunable, _merges(prunable, plans))


def _without_choice(prunable: Prunable) -> set[int]:
    """Return the nodes that a tree with two leaves must split: the root, and below it as long as there is one child."""
    if prunable.fewest_leaves < FEWEST_LEAVES:
        return set()
    nodes = prunable.tree.nodes
    chain = [0]
    while len(nodes[chain[-1]].children) == 1:
        chain.append(nodes[chain[-1]].children[0])
    return set(chain)


def _leaf(prunable: Prunable, number: int, value: FloatArray) -> _Plan | None:
    if not prunable.satisfied[number]:
        return None
    return _Plan((float(value[number]), 1), (), (number,))


def _split(
    prunable: Prunable, node: int, plans: Sequence[_Plan | None], value: FloatArray
) -> _Plan | None:
    """Return the best that can be made of a node's children; None where one of them cannot be saved."""
    parts = {child: _one(child, plans[child]) for child in prunable.tree.nodes[node].children}
    way = prunable.candidates.ways.get(node)
    if isinstance(way, Groups):
        return _in_groups(prunable, way, parts, value)
    if isinstance(way, Runs):
        return _in_runs(prunable, way, parts, value)
    return _together(parts.values())


def _one(child: int, plan: _Plan | None) -> _Plan | None:
    return None if plan is None else _Plan(plan.worth, (child,), ())


def _in_groups(
    prunable: Prunable, way: Groups, parts: Mapping[int, _Plan | None], value: FloatArray
) -> _Plan | None:
    inside: list[list[_Plan | None]] = [[] for _ in way.parent]
    for child, part in parts.items():
        inside[way.place[child]].append(part)
    # A group comes after the one around it.
    for group in range(len(way.parent) - 1, 0, -1):
        merged = _leaf(prunable, way.numbers[group], value)
        inside[way.parent[group]].append(_better(_together(inside[group]), merged))
    return _together(inside[0])


def _in_runs(
    prunable: Prunable, way: Runs, parts: Mapping[int, _Plan | None], value: FloatArray
) -> _Plan | None:
    best: list[_Plan | None] = [_Plan((0.0, 0), (), ())]
    for j in range(1, len(way.children) + 1):
        found = _together([best[j - 1], parts[way.children[j - 1]]])
        for i in range(j - 1):
            if (i, j) in way.numbers:
                merged = _leaf(prunable, way.numbers[i, j], value)
                found = _better(found, _together([best[i], merged]))
        best.append(found)
    return best[-1]


def _together(parts: Iterable[_Plan | None]) -> _Plan | None:
    value, leaves = 0.0, 0
    kept: list[int] = []
    merged: list[int] = []
    for part in parts:
        if part is None:
            return None
        value, leaves = value + part.worth[0], leaves + part.worth[1]
        kept += part.kept
        merged += part.merged
    return _Plan((value, leaves), tuple(kept), tuple(merged))


def _better(first: _Plan | None, second: _Plan | None) -> _Plan | None:
    """Return the worthier of two plans, the first of equal ones."""
    if first is None or second is None:
        return second if first is None else first
    return second if second.worth > first.worth else first


def _merges(prunable: Prunable, plans: Sequence[_Plan | None]) -> list[int]:
    """Return the merged leaves of the whole tree's plan, from the root down."""
    nodes, pending = prunable.tree.nodes, [0]
    found: list[int] = []
    while pending:
        plan = plans[pending.pop()]
        assert plan is not None
        pending += plan.kept
        found += [n for n in plan.merged if n >= len(nodes) or not nodes[n].is_leaf]
    return found
