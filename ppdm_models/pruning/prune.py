"""Anonymity-based pruning: what fails a requirement is merged with its siblings, bottom-up, until every leaf meets it.

Algorithm APT of Sharkey, Tian, Zhang & Xu (2008), section 3.2. A child that fails is merged with the siblings under the
same value of a hierarchy, then under the next one up, and at last with all; of numeric intervals it is merged with the
neighbour that holds fewer records. Where nothing says which siblings belong together it is merged with all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.pruning.siblings import BranchGroups, MergedLeaves, Runs
from treewarden.ppdm_models.tree.tree import Node, Tree, rebuilt

# Cuts a tree: some of its nodes, or some of their siblings together, become leaves.

FEWEST_LEAVES = 2


@dataclass(frozen=True, slots=True)
class Prunable:
    """A tree and what a requirement says of every leaf that merging could make of it.

    ``stays`` (N,) says whether the records that stop at a node satisfy it (so does a node where none stops);
    ``satisfied`` (N + G,) whether those of each candidate would; ``records`` (N + G,) how many those are; ``leaves``
    are the candidates as they would be published. ``fewest_leaves`` are what must be left: one tree of several
    may say the same to everybody.
    """

    tree: Tree
    candidates: MergedLeaves
    stays: BoolArray
    satisfied: BoolArray
    records: FloatArray
    leaves: tuple[Node, ...]
    fewest_leaves: int = FEWEST_LEAVES


@dataclass(frozen=True, slots=True)
class Pruned:
    """What is left of a tree.

    ``merged`` are the old indices of the nodes that became leaves, ``joined`` those of siblings that became one leaf.
    ``node_map`` gives the new index for each old one; the nodes that were merged away map to the leaf they are in now.
    """

    tree: Tree
    merged: tuple[int, ...]
    joined: tuple[tuple[int, ...], ...]
    node_map: tuple[int, ...]


def cut(prunable: Prunable, chosen: Iterable[int]) -> Pruned | None:
    """Return the tree in which these candidates are leaves, or None where too few leaves are left.

    Those below another chosen one go with it.
    """
    tree, members = prunable.tree, prunable.candidates.members
    leaf = {members[number][0]: number for number in chosen}
    first = {member: members[number][0] for number in leaf.values() for member in members[number]}
    stands_for = list(range(len(tree.nodes)))
    for node in tree.nodes:
        above = 0 if node.parent is None else stands_for[node.parent]
        is_gone = node.parent is not None and above in leaf
        stands_for[node.index] = above if is_gone else first.get(node.index, node.index)
    order = [node.index for node in tree.below(0) if stands_for[node.index] == node.index]
    nodes = [
        prunable.leaves[leaf[index]]
        if index in leaf
        else _kept_split(tree.nodes[index], stands_for)
        for index in order
    ]
    if sum(node.is_leaf for node in nodes) < prunable.fewest_leaves:
        return None
    number = {old: new for new, old in enumerate(order)}
    cuts = [members[leaf[index]] for index in order if index in leaf]
    return Pruned(
        rebuilt(tree, nodes),
        tuple(group[0] for group in cuts if len(group) == 1),
        tuple(group for group in cuts if len(group) > 1),
        tuple(number[index] for index in stands_for),
    )


def _kept_split(node: Node, stands_for: list[int]) -> Node:
    """Return a node that keeps its split, its merged children named once."""
    children = tuple(dict.fromkeys(stands_for[child] for child in node.children))
    if children == node.children:
        return node
    default = None if node.default_child is None else stands_for[node.default_child]
    return replace(node, children=children, default_child=default)


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


def _mended(prunable: Prunable, node: int, failing: list[int], mask: BoolArray) -> list[int] | None:
    """Return the groups that mend a node's failing children; None where all must be merged into one."""
    way = prunable.candidates.ways.get(node)
    if isinstance(way, BranchGroups):
        return _grouped(prunable, way, failing)
    return _run_together(prunable, way, mask) if isinstance(way, Runs) else None


def _grouped(prunable: Prunable, way: BranchGroups, failing: list[int]) -> list[int] | None:
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


def _is_inside(way: BranchGroups, group: int, others: dict[int, None]) -> bool:
    while group:
        group = way.parent[group]
        if group in others:
            return True
    return False


def _run_together(prunable: Prunable, way: Runs, mask: BoolArray) -> list[int] | None:
    """Merge the first run that fails with the smaller of its neighbours, until none does."""
    ends = list(range(len(way.children) + 1))

    def number(i: int) -> int:
        run = ends[i], ends[i + 1]
        return way.numbers[run] if run in way.numbers else way.children[run[0]]

    def fails(i: int) -> bool:
        at = number(i)
        return not (mask[at] if ends[i + 1] - ends[i] == 1 else prunable.satisfied[at])

    while len(ends) > 2:
        worst = next((i for i in range(len(ends) - 1) if fails(i)), None)
        if worst is None:
            return [number(i) for i in range(len(ends) - 1) if ends[i + 1] - ends[i] > 1]
        beside = [i for i in (worst - 1, worst + 1) if 0 <= i < len(ends) - 1]
        smaller = min(beside, key=lambda i: prunable.records[number(i)])
        del ends[max(worst, smaller)]
    return None


# Optimal pruning: of all ways to merge siblings, the one that keeps most, and whose leaves all meet a requirement.
#
# Exact dynamic programming, bottom-up, over the nodes and the ways in which their children may be merged: groups of a
# hierarchy, or runs of numeric neighbours. Linear in the nodes and the candidates. Our own method; APT (Sharkey et al.
# 2008, section 3.2) chooses among the same merges greedily.

Worth = tuple[float, int]
"""What a part keeps of what is valued, then how many leaves it has."""


@dataclass(frozen=True, slots=True)
class _PruningPlan:
    """The best that can be made of a part of the tree: its worth, the nodes kept as they are, and the merged leaves."""

    worth: Worth
    kept: tuple[int, ...]
    merged: tuple[int, ...]


def prune_optimally(
    prunable: Prunable, value: FloatArray, stopping_value: FloatArray
) -> Pruned | None:
    """Return the tree of the highest value in which every leaf satisfies the requirement; None where there is none.

    ``value`` (N + G,) is what each candidate keeps as a leaf, ``stopping_value`` (N,) what those who stop at a node
    keep while it is split. Of equal ones the one with the most leaves; it has as many as the prunable tree needs at
    least.
    """
    plans: list[_PruningPlan | None] = [None] * len(prunable.tree.nodes)
    must_split = _without_choice(prunable)
    for node in reversed(prunable.tree.nodes):
        here = node.index
        split = (
            None
            if node.is_leaf or not prunable.stays[here]
            else _split(prunable, here, plans, value)
        )
        if split is not None:
            worth = split.worth[0] + float(stopping_value[here]), split.worth[1]
            split = _PruningPlan(worth, split.kept, split.merged)
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


def _leaf(prunable: Prunable, number: int, value: FloatArray) -> _PruningPlan | None:
    if not prunable.satisfied[number]:
        return None
    return _PruningPlan((float(value[number]), 1), (), (number,))


def _split(
    prunable: Prunable, node: int, plans: Sequence[_PruningPlan | None], value: FloatArray
) -> _PruningPlan | None:
    """Return the best that can be made of a node's children; None where one of them cannot be saved."""
    parts = {child: _one(child, plans[child]) for child in prunable.tree.nodes[node].children}
    way = prunable.candidates.ways.get(node)
    if isinstance(way, BranchGroups):
        return _in_groups(prunable, way, parts, value)
    if isinstance(way, Runs):
        return _in_runs(prunable, way, parts, value)
    return _together(parts.values())


def _one(child: int, plan: _PruningPlan | None) -> _PruningPlan | None:
    return None if plan is None else _PruningPlan(plan.worth, (child,), ())


def _in_groups(
    prunable: Prunable,
    way: BranchGroups,
    parts: Mapping[int, _PruningPlan | None],
    value: FloatArray,
) -> _PruningPlan | None:
    inside: list[list[_PruningPlan | None]] = [[] for _ in way.parent]
    for child, part in parts.items():
        inside[way.place[child]].append(part)
    # A group comes after the one around it.
    for group in range(len(way.parent) - 1, 0, -1):
        merged = _leaf(prunable, way.numbers[group], value)
        inside[way.parent[group]].append(_better(_together(inside[group]), merged))
    return _together(inside[0])


def _in_runs(
    prunable: Prunable, way: Runs, parts: Mapping[int, _PruningPlan | None], value: FloatArray
) -> _PruningPlan | None:
    best: list[_PruningPlan | None] = [_PruningPlan((0.0, 0), (), ())]
    for j in range(1, len(way.children) + 1):
        pruning_plan = _together([best[j - 1], parts[way.children[j - 1]]])
        for i in range(j - 1):
            if (i, j) in way.numbers:
                merged = _leaf(prunable, way.numbers[i, j], value)
                pruning_plan = _better(pruning_plan, _together([best[i], merged]))
        best.append(pruning_plan)
    return best[-1]


def _together(parts: Iterable[_PruningPlan | None]) -> _PruningPlan | None:
    value, leaves = 0.0, 0
    kept: list[int] = []
    merged: list[int] = []
    for part in parts:
        if part is None:
            return None
        value, leaves = value + part.worth[0], leaves + part.worth[1]
        kept += part.kept
        merged += part.merged
    return _PruningPlan((value, leaves), tuple(kept), tuple(merged))


def _better(first: _PruningPlan | None, second: _PruningPlan | None) -> _PruningPlan | None:
    """Return the worthier of two plans, the first of equal ones."""
    if first is None or second is None:
        return second if first is None else first
    return second if second.worth > first.worth else first


def _merges(prunable: Prunable, plans: Sequence[_PruningPlan | None]) -> list[int]:
    """Return the merged leaves of the whole tree's plan, from the root down."""
    nodes, pending = prunable.tree.nodes, [0]
    found: list[int] = []
    while pending:
        plan = plans[pending.pop()]
        assert plan is not None
        pending += plan.kept
        found += [n for n in plan.merged if n >= len(nodes) or not nodes[n].is_leaf]
    return found
