"""Other members: tables that differ from the owner's in one person, and on which the learner grows the same file.

A member and a candidate of the same leaf and class change places. All counts stay as they are; what may change is the
cut of each node on the way to that leaf, and whether the leaf would have been split. Both are checked, and nothing that
is nearly so counts: a table that passes shows that either of the two may be in, and may be out.

Where a learner stops by more than counts (a price of leaves, a least gain, a number of leaves), what it would have cut
and taken back on another table is not known, and none is shown. Nor is one where its settings are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.local_parts import RegisterTree
from treewarden.audit.membership.split_choice import (
    NodeChoice,
    OwnCut,
    branch_impurity,
)
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Tree

MOST_PARTNERS = 24
"""So many others are tried in the place of each person."""
KEPT_ARRAYS = 3_000
"""Of so many nodes what the learner compared there is kept between tables."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownMembers:
    """How few and how many of each group are members in the tables that were checked, the owner's among them: (G,)."""

    low: IntArray
    high: IntArray


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A group that loses a member to another, both of one leaf; where classes are not known, the class goes along."""

    loses: int
    gains: int
    code: int


def stops_by_counts(tree: Tree) -> bool:
    """Whether it is known how the learner works and stops: at one class, by depth or records, or for lack of cuts.

    What it prints of other splits at the nodes would have to be the same too, which is not worked out.
    """
    told, limits = tree.learner, tree.learner.stopping
    if told.tool is not Tool.SCIKIT_LEARN or not told.lists_columns or told.unmodelled:
        return False
    if limits is None or tree.unused or prints_other_splits(tree):
        return False
    is_whole = limits.max_leaves is None and limits.min_impurity_decrease == 0
    return is_whole and limits.pruning_alpha == 0


def prints_other_splits(tree: Tree) -> bool:
    """Whether some node says something of splits that were not taken."""
    if isinstance(tree.nodes, NodeTable):
        return False
    return any(node.figures.other_splits for node in tree.nodes)


def show_others(
    tree: RegisterTree, candidates: Candidates, is_asked: BoolArray, until: Clock
) -> ShownMembers:
    """Return how far checked tables take the members of each group; only where ``is_asked``, (G,)."""
    inside = candidates.members.sum(axis=1)
    low, high = inside.copy(), inside.copy()
    if tree.compared is None or tree.compared.has_gaps:
        return ShownMembers(low, high)
    check = _TableCheck(tree, candidates)
    random = np.random.default_rng(
        0
    )  # of the order in which pairs are tried, so that results repeat
    for group in np.flatnonzero(is_asked).tolist():
        if until.is_over:
            break
        is_in = bool(inside[group])
        if (low[group] < candidates.sizes[group]) and high[group] > 0:
            continue
        for exchange in _exchanges(tree, candidates, group, random, loses=is_in):
            if until.is_over:
                break
            if check.grows(exchange):
                low[exchange.loses] = min(low[exchange.loses], inside[exchange.loses] - 1)
                high[exchange.gains] = max(high[exchange.gains], inside[exchange.gains] + 1)
                break
    return ShownMembers(low, high)


def _exchanges(
    tree: RegisterTree,
    candidates: Candidates,
    group: int,
    random: np.random.Generator,
    *,
    loses: bool,
) -> Iterator[_Exchange]:
    """Yield exchanges of a person of a group with others of the same leaf, of the same class where it is known."""
    inside, sizes = candidates.members.sum(axis=1), candidates.sizes
    is_beside = tree.buckets.of == tree.buckets.of[group]
    is_beside[group] = False
    others = np.flatnonzero(is_beside & ((inside < sizes) if loses else (inside > 0)))
    for other in random.permutation(others)[:MOST_PARTNERS].tolist():
        giver, taker = (group, other) if loses else (other, group)
        for code in np.flatnonzero(candidates.members[giver]).tolist():
            yield _Exchange(giver, taker, code)


class _TableCheck:
    """Holds tables that differ in two people against the file."""

    def __init__(self, tree: RegisterTree, candidates: Candidates) -> None:
        assert tree.compared is not None
        self.tree, self.candidates, self.compared = tree, candidates, tree.compared
        self.members = candidates.members.astype(np.float64)
        self.true_inside = candidates.members.sum(axis=1)
        self.inside = self.true_inside.copy()
        self.choices: dict[int, NodeChoice] = {}
        self.leaf_of = tree.leaf

    def grows(self, exchange: _Exchange) -> bool:
        """Whether the learner surely grows the same file where two people have changed places."""
        self._move(exchange, 1)
        try:
            leaf = int(self.leaf_of[exchange.loses])
            return self._keeps_cuts(leaf) and self._stops(leaf)
        finally:
            self._move(exchange, -1)

    def _move(self, exchange: _Exchange, step: int) -> None:
        for group, number in ((exchange.loses, -step), (exchange.gains, step)):
            self.members[group, exchange.code] += number
            self.inside[group] += number

    def _keeps_cuts(self, leaf: int) -> bool:
        """Whether each node on the way to a leaf is cut where it was, and no other cut is taken for it."""
        tree = self.tree
        for node in tree.groups.path(leaf):
            cut = tree.cuts.get(node)
            if cut is None or not tree.rule.is_kept(cut, self.inside, self.true_inside):
                return False
            here = tree.groups.at(node)
            mixed = branch_impurity(
                self.compared.criterion, tree.groups, node, self.candidates.members
            )
            own = OwnCut(cut.feature, self.members[cut.left].sum(axis=0), mixed)
            if not self._choice(node, here).is_surely_taken(self.members[here], own):
                return False
        return True

    def _stops(self, leaf: int) -> bool:
        """Whether the learner surely stops at a leaf as it did.

        It does at people of one class, where its limits of depth or records stop it, and where no cut is possible.
        """
        here = self.tree.groups.at(leaf)
        now = self.members[here]
        if (now.sum(axis=0) > 0).sum() < 2 or self._is_limited(leaf, int(self.inside[here].sum())):
            return True
        return not self._choice(leaf, here).has_any(now)

    def _is_limited(self, leaf: int, records: int) -> bool:
        limits = self.tree.stopping
        if limits is None:
            return False
        depth = sum(1 for _ in self.tree.groups.path(leaf))
        return records < limits.min_split_records or depth == limits.max_depth

    def _choice(self, node: int, here: IndexArray) -> NodeChoice:
        if node not in self.choices:
            if len(self.choices) >= KEPT_ARRAYS:
                self.choices.clear()
            self.choices[node] = NodeChoice(self.compared, here, len(self.candidates.sizes))
        return self.choices[node]
