"""Cuts a tree: some of its nodes, or some of their siblings together, become leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.pruning.siblings import Candidates
from treewarden.ppdm_models.tree.tree import Node, Tree, rebuilt

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
    candidates: Candidates
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
        prunable.leaves[leaf[index]] if index in leaf else _kept(tree.nodes[index], stands_for)
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


def _kept(node: Node, stands_for: list[int]) -> Node:
    """Return a node that keeps its split, its merged children named once."""
    children = tuple(dict.fromkeys(stands_for[child] for child in node.children))
    if children == node.children:
        return node
    default = None if node.default_child is None else stands_for[node.default_child]
    return replace(node, children=children, default_child=default)
