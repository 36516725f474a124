"""Membership inference: counts and cuts, each making the other tighter, to proofs, witness tables and an estimate.

A witness differs from the owner's table in one person, and the learner grows the same file on it. A member and a
candidate of the same leaf and class change places. All counts stay as they are; what may change is the cut of each node
on the way to that leaf, and whether the leaf would have been split. Both are checked exactly: a table that passes shows
that either of the two may be in, and may be out.

Where a learner stops by more than counts (a price of leaves, a least gain, a number of leaves), what it would have cut
and taken back on another table is not known, and none is shown. Nor is one where its settings are not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.engine.counts import bound_by_rows
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import Problem, breaking
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.membership.candidates import (
    Candidates,
    MembershipInference,
)
from treewarden.audit.membership.count_rows import (
    OTHER_TABLE,
    OUT,
    MemberRows,
    count_rows,
    counts_all,
    true_table,
)
from treewarden.audit.membership.cuts import (
    Buckets,
    ComparedNumbers,
    CutFact,
    MemberBounds,
    MemberCut,
    find_rule,
    numeric_cuts,
    read_cut,
)
from treewarden.audit.membership.learners import cuts_of
from treewarden.audit.membership.local_parts import (
    NodeChoice,
    NodeParts,
    OwnCut,
    RegisterTree,
    branch_impurity,
    compared_columns,
    shared_by_parts,
)
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Tree

OTHER_CUTS = (
    "it is not known how the thresholds of {} were chosen, so what they reveal about "
    "members is not decided"
)
NOT_COUNTED = (
    "the class counts of {} are missing, so what thresholds and splits reveal about "
    "members is not decided"
)


def infer_members(
    trees: Sequence[Tree], stops: IndexArray, candidates: Candidates, until: Clock
) -> MembershipInference | Undetermined:
    """Return what trees whose leaves count all people of a table say of who of a register is in it.

    ``stops`` (T, G) is where each group of candidates stops in each tree.
    """
    rows = count_rows(trees, stops, candidates)
    if isinstance(rows, Undetermined):
        return rows
    truth = true_table(candidates)
    if len(breaking(rows.problem(candidates), truth)):
        return OTHER_TABLE
    grown_trees, left = _known_cuts(trees, stops, candidates)
    counted = [tree for tree in grown_trees if counts_all(trees[tree.number], tree.leaf)]
    if len(counted) < len(grown_trees):
        left = (
            *left,
            NOT_COUNTED.format(_which_trees(len(grown_trees) - len(counted), len(trees))),
        )
    problem = _with_cuts(rows, counted, candidates, until)
    bounds = reason(problem, truth=truth, budget=TimeBudget(until, 0.0))
    if bounds.problem:
        return Undetermined(
            f"no set of people from the register is consistent with the file: {bounds.problem}"
        )
    low, high = candidates.sizes - bounds.high[:, OUT], candidates.sizes - bounds.low[:, OUT]
    # Once somebody is proved to be in, who else may be out hardly matters: large registers would take all the time.
    is_somebody_in = bool((low == candidates.sizes).any())
    searching = until.share(SEARCH_SHARE) if is_somebody_in else until
    shown = _show_others(trees, grown_trees, candidates, low < high, searching)
    estimate = bounds.estimate
    return MembershipInference(
        candidates=candidates,
        low=low,
        high=high,
        reached_low=shown.low,
        reached_high=shown.high,
        probability=estimate
        if isinstance(estimate, Undetermined)
        else 1.0 - estimate.values[:, OUT],
        left=left,
    )


def _known_cuts(
    trees: Sequence[Tree], stops: IndexArray, candidates: Candidates
) -> tuple[list[RegisterTree], tuple[str, ...]]:
    """Return the cuts of each tree whose making is known and checked on the truth, and what is left open of others."""
    members = candidates.members.sum(axis=1)
    grown_trees, unknown = [], 0
    for number, tree in enumerate(trees):
        learner = cuts_of(tree.learner)
        if learner is None:
            unknown += 1
            continue
        groups = NodeGroups(tree, stops[number])
        numbers = ComparedNumbers(candidates, learner)
        cuts = tuple(numeric_cuts(tree, number, groups, numbers))
        rule = find_rule(cuts, members, learner)
        if rule is None:
            unknown += 1
            continue
        grown = RegisterTree(
            groups=groups,
            leaf=stops[number],
            cuts={} if learner.is_of_table else {cut.place.node: cut for cut in cuts},
            table_cuts=cuts if learner.is_of_table else (),
            rule=rule,
            buckets=_buckets(stops[number], candidates),
            compared=None if learner.is_of_table else compared_columns(tree, candidates, learner),
            members=candidates.members,
            stopping=tree.learner.stopping,
            number=number,
        )
        grown_trees.append(grown)
    if not unknown:
        return grown_trees, ()
    return grown_trees, (OTHER_CUTS.format(_which_trees(unknown, len(trees))),)


def _which_trees(count: int, trees: int) -> str:
    """Return how messages call so many of the trees."""
    return "the tree" if trees == 1 else f"{count:,} of {trees:,} trees"


def _show_others(
    trees: Sequence[Tree],
    grown_trees: Sequence[RegisterTree],
    candidates: Candidates,
    is_open: BoolArray,
    until: Clock,
) -> ShownMembers:
    """Return how far other tables that grow the same file take the members; of several trees only the owner's."""
    is_alone = len(trees) == 1 and len(grown_trees) == 1 and not grown_trees[0].table_cuts
    if is_alone and stops_by_counts(trees[0]):
        return show_others(grown_trees[0], candidates, is_open, until)
    inside = candidates.members.sum(axis=1)
    return ShownMembers(inside, inside)


def _buckets(stops: IndexArray, candidates: Candidates) -> Buckets:
    """Return the leaf of each group, parted by class where the register says it, and the members there."""
    keys = stops.astype(np.int64)
    if candidates.class_of is not None:
        keys = keys * len(candidates.classes) + candidates.class_of
    of = np.unique(keys, return_inverse=True)[1].reshape(-1)
    needed = np.bincount(of, candidates.members.sum(axis=1))
    return Buckets(of, np.rint(needed).astype(np.int64))


def _with_cuts(
    rows: MemberRows, grown_trees: Sequence[RegisterTree], candidates: Candidates, until: Clock
) -> Problem:
    """Return all rows, with those that cuts add until neither proves anything new to the other."""
    problem = rows.problem(candidates)
    seen_rows: set[tuple[int, int, bytes]] = set()
    is_moved = np.ones(len(candidates.sizes), dtype=bool)
    bounds = _member_bounds(problem, candidates, until)
    while not until.is_over:
        is_new = False
        for tree in grown_trees:
            room = tree.buckets.room(bounds)
            for cut in _moved_cuts(tree, is_moved):
                if until.is_over:
                    break
                fact = read_cut(cut, bounds, tree.buckets, room, tree.rule)
                if fact is not None:
                    is_new |= _take(rows, fact, candidates, seen_rows)
        if not is_new:
            for tree in grown_trees:
                for parts in shared_by_parts(tree, candidates, bounds, until):
                    is_new |= _take_parts(rows, parts, bounds, candidates)
        if not is_new:
            break
        problem = rows.problem(candidates)
        before, bounds = bounds, _member_bounds(problem, candidates, until)
        is_moved = (bounds.low != before.low) | (bounds.high != before.high)
    return problem


def _moved_cuts(tree: RegisterTree, is_moved: BoolArray) -> Iterator[MemberCut]:
    """Yield the cuts over leaves of which more is known by now, (G,) by group: of others they say what they said."""
    of = tree.buckets.of
    is_moved_leaf = np.bincount(of, is_moved, len(tree.buckets.needed)) > 0
    is_beside = is_moved_leaf[of]
    for cut in (*tree.cuts.values(), *tree.table_cuts):
        if is_beside[cut.left].any() or is_beside[cut.right].any():
            yield cut


def _member_bounds(problem: Problem, candidates: Candidates, until: Clock) -> MemberBounds:
    """Return how many of each group are members, by what single rows prove."""
    low, high = bound_by_rows(problem, until)
    return MemberBounds(candidates.sizes - high[:, OUT], candidates.sizes - low[:, OUT])


def _take(
    rows: MemberRows, fact: CutFact, candidates: Candidates, seen_rows: set[tuple[int, int, bytes]]
) -> bool:
    """Take what a cut proves as rows; return whether any of it is new."""
    found: list[tuple[IndexArray, tuple[int, int]]] = []
    if len(fact.out):
        found.append((fact.out, (0, 0)))
    for groups in fact.present:
        found.append((groups, (1, _people(candidates.sizes, groups))))
    is_new = False
    for groups, ends in found:
        key = (fact.place.tree, ends[0], np.sort(groups).tobytes())
        if key not in seen_rows:
            seen_rows.add(key)
            rows.add_members(candidates, groups, ends, fact.place)
            is_new = True
    return is_new


def _take_parts(
    rows: MemberRows, parts: NodeParts, bounds: MemberBounds, candidates: Candidates
) -> bool:
    """Take what all parts of one node's candidates share as rows, one for each group that it says more of."""
    here = parts.groups
    is_more = (parts.low > bounds.low[here]) | (parts.high < bounds.high[here])
    for place in np.flatnonzero(is_more).tolist():
        ends = (int(parts.low[place]), int(parts.high[place]))
        rows.add_members(candidates, here[place : place + 1], ends, parts.place)
    return bool(is_more.any())


def _people(sizes: IntArray, groups: IndexArray) -> int:
    return int(sizes[groups].sum())


SEARCH_SHARE = 0.25
"""Of the time that is left, where some members are proved: what the search for other tables may take."""
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
