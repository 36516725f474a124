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
)
from treewarden.audit.membership.learners import LearnerCuts, surely_apart
from treewarden.audit.population.leaves import NodeGroups
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.tree import Criterion, Stopping, Tree

ROUNDING = 1e-10
"""Impurities per record that differ by less may be the same to the learner's arithmetic."""
BESIDE_CHOICE = frozenset(
    {"random_state", "max_depth", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha"}
    | {"min_samples_split", "min_impurity_split"}
)
"""Settings by which a learner stopped, or took one of equally good cuts: what it took was no worse than others."""
COMPARING = (Criterion.GINI, Criterion.ENTROPY)


@dataclass(frozen=True, slots=True, eq=False)
class ComparedColumns:
    """The columns that the learner compared: their ``numbers`` (G, F), the groups in the order of each, and how."""

    names: tuple[str, ...]
    numbers: FloatArray
    orders: IndexArray
    criterion: Criterion
    min_leaf: int

    @property
    def has_gaps(self) -> bool:
        """Whether somebody lacks a value, of whom learners think in different ways."""
        return bool(np.isnan(self.numbers).any())


def compared_columns(
    tree: Tree, candidates: Candidates, learner: LearnerCuts
) -> ComparedColumns | None:
    """Return the columns that decided the splits of a tree; None where it is not known how they were compared.

    A learner that saw more columns than the file names took a cut that was no worse than those on the named ones.
    """
    told = tree.learner
    is_known = told.all_features and BESIDE_CHOICE.issuperset(told.unmodelled)
    if not is_known or told.criterion not in COMPARING or told.criterion is None:
        return None
    columns = []
    for feature in tree.features:
        column = candidates.columns.get(feature.name)
        if not isinstance(column, NumericColumn):
            return None
        columns.append(learner.compared(feature, column.numbers))
    numbers = np.stack(columns, axis=1)
    return ComparedColumns(
        names=tuple(feature.name for feature in tree.features),
        numbers=numbers,
        orders=np.argsort(numbers, axis=0, kind="stable"),
        criterion=told.criterion,
        min_leaf=told.min_leaf_records,
    )


def impurity(criterion: Criterion, counts: FloatArray) -> FloatArray:
    """Return the impurity of branches times their records: ``counts`` (..., m) are of their classes."""
    total = counts.sum(axis=-1)
    if criterion is Criterion.GINI:
        squares = np.einsum("...m,...m->...", counts, counts)
        return np.asarray(
            total - np.divide(squares, total, out=np.zeros_like(total), where=total > 0)
        )
    logs = np.zeros_like(counts)
    shares = np.divide(counts, total[..., None], out=logs.copy(), where=total[..., None] > 0)
    np.log(shares, out=logs, where=shares > 0)
    return np.asarray(-(counts * logs).sum(axis=-1))


class NodeChoice:
    """The candidates of one node in the order of each column, and where each could be cut.

    ``sure_cuts`` are between values that are so far apart that the learner surely tells them apart: what is proved may
    count on these alone. ``cuts`` are between any two values: a table that is shown must stand up to all of them.
    """

    def __init__(self, compared: ComparedColumns, here: IndexArray, total: int) -> None:
        """Take the groups that pass the node; ``total`` is how many groups there are."""
        self.here, self.compared = here, compared
        is_here = np.zeros(total, dtype=bool)
        is_here[here] = True
        place = np.zeros(total, dtype=np.intp)
        place[here] = np.arange(len(here))
        self.names: list[str] = []
        self.orders: list[IndexArray] = []
        self.cuts: list[IndexArray] = []
        self.sure_cuts: list[IndexArray] = []
        for column in range(compared.numbers.shape[1]):
            order = compared.orders[:, column]
            order = order[is_here[order]]
            values = compared.numbers[order, column]
            if np.isnan(values).any():
                continue
            self.names.append(compared.names[column])
            self.orders.append(place[order])
            self.cuts.append(np.flatnonzero(np.diff(values) > 0))
            self.sure_cuts.append(np.flatnonzero(surely_apart(values[:-1], values[1:])))

    def lowest(self, tables: FloatArray) -> FloatArray:
        """Return the lowest impurity of any sure cut by table, (K,), infinite where there is none.

        ``tables`` is (K, n, m). Both branches hold as many records as the learner asked for.
        """
        lowest = np.full(len(tables), np.inf)
        whole = tables.sum(axis=1)[:, None, :]
        least = max(1, self.compared.min_leaf)
        for order, cuts in zip(self.orders, self.sure_cuts, strict=True):
            if not len(cuts):
                continue
            left = np.cumsum(tables[:, order], axis=1)[:, cuts]
            right = whole - left
            is_allowed = (left.sum(axis=2) >= least) & (right.sum(axis=2) >= least)
            mixed = impurity(self.compared.criterion, left)
            mixed = mixed + impurity(self.compared.criterion, right)
            lowest = np.minimum(lowest, np.where(is_allowed, mixed, np.inf).min(axis=1))
        return lowest

    def has_any(self, table: FloatArray) -> bool:
        """Whether the learner might cut at all, with members (n, m) of these groups."""
        least = max(1, self.compared.min_leaf)
        records = table.sum(axis=1)
        for order, cuts in zip(self.orders, self.cuts, strict=True):
            left = np.cumsum(records[order])[cuts]
            if ((left >= least) & (records.sum() - left >= least)).any():
                return True
        return False

    def is_surely_taken(self, table: FloatArray, cut: OwnCut) -> bool:
        """Whether the learner takes its own cut for certain, or may by its draw, with members (n, m) of these groups.

        Any other cut is clearly worse, or a tie: its branches have the very same counts. Of ties on one column the
        learner takes the lowest; of those on several columns the one that its draw of columns brings first.
        """
        whole, least = table.sum(axis=0), max(1, self.compared.min_leaf)
        limit = cut.impurity + ROUNDING * float(whole.sum())
        for name, order, cuts in zip(self.names, self.orders, self.cuts, strict=True):
            left = np.cumsum(table[order], axis=0)[cuts]
            right = whole - left
            records = left.sum(axis=1)
            mixed = impurity(self.compared.criterion, left)
            mixed = mixed + impurity(self.compared.criterion, right)
            is_rival = (records >= least) & (right.sum(axis=1) >= least) & (mixed < limit)
            is_same = (left == cut.left).all(axis=1) | (right == cut.left).all(axis=1)
            is_first = (name == cut.feature) & (records < cut.left.sum())
            if (is_rival & (~is_same | is_first)).any():
                return False
        return True


@dataclass(frozen=True, slots=True, eq=False)
class OwnCut:
    """The cut that a node has: its column, the class counts of its lower branch, (m,), and the impurity of both."""

    feature: str
    left: FloatArray
    impurity: float


def may_be_taken(lowest: FloatArray, published: float, records: float) -> BoolArray:
    """Return whether a cut of this impurity may have been taken, by table: no other is clearly lower."""
    return lowest >= published - ROUNDING * records


def by_class(candidates: Candidates, groups: IndexArray, members: IntArray) -> FloatArray:
    """Return numbers of members, (K, n), of groups whose class is known, by class: (K, n, m)."""
    assert candidates.class_of is not None
    tables = np.zeros((*members.shape, len(candidates.classes)))
    tables[:, np.arange(len(groups)), candidates.class_of[groups]] = members
    return tables


def branch_impurity(
    criterion: Criterion, groups: NodeGroups, node: int, members: IntArray
) -> float:
    """Return the impurity of a node's branches together, with members by group and class, (G, m)."""
    mixed = 0.0
    for child in groups.children[node]:
        counts = members[groups.at(child)].sum(axis=0).astype(np.float64)
        mixed += float(impurity(criterion, counts))
    return mixed


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
