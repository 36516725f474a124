"""Membership inference: counts and cuts, each making the other tighter, to proofs, shown tables and an estimate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.engine.counts import by_class, by_leaves, counts_of, propagate
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import Problem, breaking
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.membership.candidates import Candidates
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
    CutFact,
    MemberBounds,
    NodeGroups,
    find_rule,
    numeric_cuts,
    read_cut,
)
from treewarden.audit.membership.learners import cuts_of
from treewarden.audit.membership.local_parts import NodeParts, RegisterTree, shared_by_parts
from treewarden.audit.membership.other_members import (
    ShownMembers,
    show_others,
    stops_by_counts,
)
from treewarden.audit.membership.result import MembershipInference
from treewarden.audit.membership.split_choice import compared_columns
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Tree

OTHER_CUTS = "how its learner made the thresholds of {} is not known, so what they say of members is left open"
NOT_COUNTED = (
    "the class counts of {} are withheld, so what thresholds and splits say of members is left open"
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
        return Undetermined(f"no part of the register fits the file: {bounds.problem}")
    low, high = candidates.sizes - bounds.high[:, OUT], candidates.sizes - bounds.low[:, OUT]
    shown = _show_others(trees, grown_trees, candidates, low < high, until)
    estimate = bounds.estimate
    return MembershipInference(
        candidates=candidates,
        low=low,
        high=high,
        shown_low=shown.low,
        shown_high=shown.high,
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
        learner = cuts_of(tree.learner.tool)
        if learner is None:
            unknown += 1
            continue
        groups = NodeGroups(tree, stops[number])
        cuts = tuple(numeric_cuts(tree, number, groups, candidates, learner))
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
    while not until.is_over:
        bounds = _member_bounds(problem, candidates, until)
        is_new = False
        for tree in grown_trees:
            room = tree.buckets.room(bounds)
            for cut in (*tree.cuts.values(), *tree.table_cuts):
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
    return problem


def _member_bounds(problem: Problem, candidates: Candidates, until: Clock) -> MemberBounds:
    """Return how many of each group are members, by what single rows prove."""
    counts = counts_of(problem)
    boxes = propagate(counts, by_leaves(counts), until)
    low, high = by_class(counts, boxes.low, boxes.high)
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
