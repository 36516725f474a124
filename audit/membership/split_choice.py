"""The choice of splits over members: would the learner have taken the published cut on other parts of the register?

A learner takes the split with the lowest impurity of its branches. The branches of the published cut have the published
counts whoever the members are, so that its own impurity is known; any other cut of a node is compared with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.cuts import NodeGroups, surely_apart
from treewarden.audit.membership.learners import LearnerCuts
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.tree import Criterion, Tree

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
