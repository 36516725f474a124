"""All parts of a small neighbourhood: who of the candidates below one node is a member in every part that fits there.

What the leaves below a node count, the cuts there and the choice of these cuts hang on the candidates of that node
alone. Where few parts of them fit the counts, all are listed and held against the cuts and their choice. Whatever those
that are left share holds of every part of the whole register.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.count_rows import MemberPlace
from treewarden.audit.membership.cuts import (
    Buckets,
    CutRule,
    MemberBounds,
    MemberCut,
    NodeGroups,
)
from treewarden.audit.membership.split_choice import (
    ComparedColumns,
    NodeChoice,
    branch_impurity,
    by_class,
    may_be_taken,
)
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Stopping

MOST_PARTS = 4_000
"""So many parts of one node's candidates are listed at most."""
MOST_CELLS = 4_000_000
"""So many numbers of members are held at once: parts times candidates."""


@dataclass(frozen=True, slots=True, eq=False)
class RegisterTree:
    """One tree over a register: its cuts by node, how they were made and compared, and the candidates of each node.

    ``leaf`` (G,) is where each group stops. ``members`` (G, m) are the true ones; of them only what the file says of
    every node is used here. ``table_cuts`` hang on the candidates of the whole register. ``stopping`` says when the
    learner stopped, as far as the file tells. ``number`` is the tree's place among those of its model.
    """

    groups: NodeGroups
    leaf: IndexArray
    cuts: dict[int, MemberCut]
    rule: CutRule
    buckets: Buckets
    compared: ComparedColumns | None
    members: IntArray
    table_cuts: tuple[MemberCut, ...] = ()
    stopping: Stopping | None = None
    number: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class NodeParts:
    """What all parts of one node's candidates that fit share: members of each group, between two ends, (n,)."""

    place: MemberPlace
    groups: IndexArray
    low: IntArray
    high: IntArray


def shared_by_parts(
    tree: RegisterTree, candidates: Candidates, bounds: MemberBounds, until: Clock
) -> Iterator[NodeParts]:
    """Yield what the parts of each node with few of them share, where that is more than ``bounds`` say."""
    if candidates.class_of is None:
        return
    for node in _small_nodes(tree, bounds):
        if until.is_over:
            return
        here = tree.groups.at(node)
        parts = _parts(tree.buckets, here, bounds)
        kept = parts[_fits(tree, candidates, node, parts)]
        if not len(kept):
            continue
        low, high = kept.min(axis=0), kept.max(axis=0)
        if (low > bounds.low[here]).any() or (high < bounds.high[here]).any():
            yield NodeParts(MemberPlace(tree.number, node), here, low, high)


def _small_nodes(tree: RegisterTree, bounds: MemberBounds) -> list[int]:
    """Return the highest inner nodes with few parts, and all inner nodes below them that no such node is above."""
    few: list[int] = []
    stack = [0]
    while stack:
        node = stack.pop()
        if not tree.groups.children[node]:
            continue
        here = tree.groups.at(node)
        if (bounds.low[here] == bounds.high[here]).all():
            continue
        if _count_parts(tree.buckets, here, bounds) <= min(MOST_PARTS, MOST_CELLS // len(here)):
            few.append(node)
        else:
            stack.extend(tree.groups.children[node])
    return few


def _open_buckets(
    buckets: Buckets, here: IndexArray, bounds: MemberBounds
) -> Iterator[tuple[IndexArray, int]]:
    """Yield the open groups of each leaf and class here, as places among these, and how many members they have."""
    is_open = bounds.low[here] < bounds.high[here]
    of = buckets.of[here]
    for bucket in np.unique(of[is_open]).tolist():
        places = np.flatnonzero(is_open & (of == bucket))
        fixed = int(bounds.low[here[(of == bucket) & ~is_open]].sum())
        yield places, int(buckets.needed[bucket]) - fixed


def _count_parts(buckets: Buckets, here: IndexArray, bounds: MemberBounds) -> int:
    """Return at least how many parts there are, by the counts alone; more than ``MOST_PARTS`` is not told apart."""
    parts = 1
    for places, needed in _open_buckets(buckets, here, bounds):
        low, high = bounds.low[here[places]], bounds.high[here[places]]
        rest, spread = needed - int(low.sum()), int((high - low).sum())
        # Each person of a group is told apart here, so that this is never too few.
        parts *= math.comb(spread, max(0, min(rest, spread)))
        if parts > MOST_PARTS:
            break
    return parts


def _parts(buckets: Buckets, here: IndexArray, bounds: MemberBounds) -> IntArray:
    """Return all numbers of members that fit the counts, (K, n)."""
    parts = bounds.low[here][None, :].copy()
    for places, needed in _open_buckets(buckets, here, bounds):
        chosen = fillings(bounds.low[here[places]], bounds.high[here[places]], needed)
        wide = np.repeat(parts, len(chosen), axis=0)
        wide[:, places] = np.tile(chosen, (len(parts), 1))
        parts = wide
    return parts


def fillings(low: IntArray, high: IntArray, needed: int) -> IntArray:
    """Return all numbers between two ends, (n,) each, that add up to what is needed, (K, n).

    Numbers are chosen from the first place to the last; at each, what is chosen before can still be completed, so that
    there are never more beginnings than fillings. Each choice keeps only from which one before it came.
    """
    size = len(low)
    most = np.concatenate([np.cumsum(high[::-1])[::-1], [0]])
    least = np.concatenate([np.cumsum(low[::-1])[::-1], [0]])
    is_possible = bool(least[0] <= needed <= most[0])
    remaining = np.full(int(is_possible), needed, dtype=np.int64)
    chosen: list[IntArray] = []
    came_from: list[IndexArray] = []
    for place in range(size):
        begin = np.maximum(low[place], remaining - most[place + 1])
        end = np.minimum(high[place], remaining - least[place + 1])
        choices = end - begin + 1
        before = np.repeat(np.arange(len(remaining)), choices)
        number = begin[before] + np.arange(len(before)) - (np.cumsum(choices) - choices)[before]
        remaining = remaining[before] - number
        chosen.append(number)
        came_from.append(before)
    found = np.zeros((len(remaining), size), dtype=np.int64)
    at = np.arange(len(remaining))
    for place in range(size - 1, -1, -1):
        found[:, place] = chosen[place][at]
        at = came_from[place][at]
    return found


def _fits(tree: RegisterTree, candidates: Candidates, node: int, parts: IntArray) -> BoolArray:
    """Return whether the cuts of a node and of all below it may have been made with parts of its candidates, (K,)."""
    here = tree.groups.at(node)
    place = np.full(len(candidates.sizes), -1, dtype=np.intp)
    place[here] = np.arange(len(here))
    is_fit = np.ones(len(parts), dtype=bool)
    for inner in _below(tree.groups, node):
        if not is_fit.any():
            break
        if inner in tree.cuts:
            _keep(is_fit, _is_made(tree.cuts[inner], place, parts[is_fit], tree.rule))
        if tree.compared is not None and is_fit.any():
            _keep(is_fit, _is_chosen(tree, candidates, inner, place, parts[is_fit]))
    return is_fit


def _keep(is_fit: BoolArray, still: BoolArray) -> None:
    """Leave of what fits only what fits still."""
    is_fit[np.flatnonzero(is_fit)[~still]] = False


def _below(groups: NodeGroups, node: int) -> Iterator[int]:
    """Yield the inner nodes from one down."""
    stack = [node]
    while stack:
        inner = stack.pop()
        if groups.children[inner]:
            yield inner
            stack.extend(groups.children[inner])


def _is_made(cut: MemberCut, place: IndexArray, parts: IntArray, rule: CutRule) -> BoolArray:
    """Return whether members make the threshold of a cut, by part."""
    left, right = parts[:, place[cut.left]] > 0, parts[:, place[cut.right]] > 0
    if not (left.size and right.size):
        return np.zeros(len(parts), dtype=bool)
    is_made = left.any(axis=1) & right.any(axis=1)
    last = left.shape[1] - 1 - left[:, ::-1].argmax(axis=1)
    first = right.argmax(axis=1)
    below, above = cut.below[last], cut.above[first]
    pairs, of = np.unique(np.stack([below, above], axis=1), axis=0, return_inverse=True)
    may_make = rule.may_make(pairs[:, 0], pairs[:, 1], cut.threshold)
    return is_made & may_make[of.reshape(-1)]


def _is_chosen(
    tree: RegisterTree, candidates: Candidates, node: int, place: IndexArray, parts: IntArray
) -> BoolArray:
    """Return whether no other cut of a node is better than its own, by part."""
    assert tree.compared is not None
    here = tree.groups.at(node)
    choice = NodeChoice(tree.compared, here, len(candidates.sizes))
    members = parts[:, place[here]]
    own = branch_impurity(tree.compared.criterion, tree.groups, node, tree.members)
    records = float(tree.members[here].sum())
    return may_be_taken(choice.lowest(by_class(candidates, here, members)), own, records)
