"""What the published counts of leaves say of a register: how many candidates of each leaf and class are members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from treewarden.audit.engine.problem import Problem
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.plain_splits import class_counts_of, is_inner, totals_of
from treewarden.ppdm_models.tree.tree import Tree

OUT = 0
"""The alternative of a candidate who is not in the table; the others are those of members."""
NO_COUNTS = Undetermined(
    "the file contains no record counts of leaves, and membership is not computed from "
    "anything else in it"
)
OTHER_TABLE = Undetermined(
    "the counts in the file differ from those of the table, so membership cannot be computed"
)
NOT_PEOPLE = Undetermined("the counts in the file are not numbers of people")
WHOLE_SLACK = 1e-6
"""A published count is taken for a whole number where it is so near to one."""


def alternatives(candidates: Candidates) -> int:
    """Return how many alternatives each candidate has: out, and in; where his class is unknown, in with each class."""
    return 2 if candidates.is_labelled else 1 + len(candidates.classes)


def true_table(candidates: Candidates) -> IntArray:
    """Return how many candidates of each group have each alternative, (G, A): the truth of the owner."""
    inside = candidates.members
    if candidates.is_labelled:
        inside = inside.sum(axis=1)[:, None]
    out = candidates.sizes - candidates.members.sum(axis=1)
    return np.hstack([out[:, None], inside])


@dataclass(frozen=True, slots=True, eq=False)
class MemberRows:
    """Rows over candidates as they come: ``low <= people of some groups who have an alternative <= high``."""

    groups: list[IndexArray]
    low: list[int]
    high: list[int]
    output: list[int]
    trees: list[int]
    nodes: list[int]

    @classmethod
    def empty(cls) -> MemberRows:
        """Return no rows."""
        return cls([], [], [], [], [], [])

    def add(
        self, groups: IndexArray, ends: tuple[int, int], output: int, place: MemberPlace
    ) -> None:
        """Take one row over ``groups``, told by the node at ``place``."""
        self.groups.append(groups)
        self.low.append(ends[0])
        self.high.append(ends[1])
        self.output.append(output)
        self.trees.append(place.tree)
        self.nodes.append(place.node)

    def add_members(
        self, candidates: Candidates, groups: IndexArray, ends: tuple[int, int], place: MemberPlace
    ) -> None:
        """Take a row of how many people of ``groups`` are members, whatever their class."""
        if candidates.is_labelled:
            self.add(groups, ends, 1, place)
            return
        people = int(candidates.sizes[groups].sum())
        self.add(groups, (max(0, people - ends[1]), people - ends[0]), OUT, place)

    def problem(self, candidates: Candidates) -> Problem:
        """Return all rows as a problem over the groups."""
        lengths = [len(groups) for groups in self.groups]
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)
        columns = np.concatenate(self.groups) if self.groups else np.zeros(0, dtype=np.intp)
        shape = (len(lengths), len(candidates.sizes))
        matrix = sparse.csr_array(
            (np.ones(len(columns), dtype=np.int64), columns, ends), shape=shape
        )
        return Problem(
            matrix=matrix,
            low=np.array(self.low, dtype=np.int64),
            high=np.array(self.high, dtype=np.int64),
            output=np.array(self.output, dtype=np.intp),
            trees=np.array(self.trees, dtype=np.intp),
            nodes=np.array(self.nodes, dtype=np.intp),
            sizes=candidates.sizes,
            classes=alternatives(candidates),
        )


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """The node that tells a row: its tree, from 0, and its number there."""

    tree: int
    node: int


def count_rows(
    trees: Sequence[Tree], stops: IndexArray, candidates: Candidates
) -> MemberRows | Undetermined:
    """Return a row for each published count of a leaf; ``stops`` (T, G) is where each group stops in each tree.

    Of subsets of a register that fit them, all are products of subsets of each leaf and class, so that a candidate is a
    member with the probability that the count has of the candidates there.
    """
    rows, told = MemberRows.empty(), False
    for number, tree in enumerate(trees):
        if not tree.has_people:
            return NOT_PEOPLE
        nodes, first = np.unique(stops[number], return_inverse=True)
        order = np.argsort(first.reshape(-1), kind="stable")
        starts = np.searchsorted(first.reshape(-1)[order], np.arange(len(nodes) + 1))
        inner = is_inner(tree)
        known, empty = known_counts(tree, nodes), np.setdiff1d(np.flatnonzero(~inner), nodes)
        if not (_are_whole(known.by_class) and _are_whole(known.totals)):
            return NOT_PEOPLE
        if known_counts(tree, empty).counts_anybody:
            return OTHER_TABLE
        # An inner node counts all who pass, not those who stop there for lack of a value.
        for place in np.flatnonzero(~inner[nodes]).tolist():
            node = int(nodes[place])
            groups = order[starts[place] : starts[place + 1]]
            found = _leaf_rows(
                rows, candidates, groups, known.leaf_counts(place), MemberPlace(number, node)
            )
            if found is None:
                return OTHER_TABLE
            told |= found
    return rows if told else NO_COUNTS


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounts:
    """What is published of some leaves: records by class, between ``low`` and ``high`` (L, m), and ``totals`` (L,).

    A total is NaN where it is not published; of a class about which nothing is, the ends are NaN.
    """

    low: FloatArray
    high: FloatArray
    totals: FloatArray

    @property
    def by_class(self) -> FloatArray:
        """The class counts that are known exactly, (L, m); NaN elsewhere."""
        return np.where(self.low == self.high, self.low, np.nan)

    @property
    def counts_anybody(self) -> bool:
        """Whether some leaf surely holds somebody."""
        return bool((self.totals > 0).any() or (self.low > 0).any())

    def leaf_counts(self, place: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the ends and the total of one leaf."""
        return self.low[place], self.high[place], float(self.totals[place])


def known_counts(tree: Tree, leaves: IndexArray) -> LeafCounts:
    """Return what a tree publishes of some leaves, with the counts that subtraction reveals."""
    counts, totals = class_counts_of(tree, leaves), totals_of(tree)[leaves]
    rest = totals - np.nansum(counts, axis=1)
    is_lacking = np.isnan(counts)
    is_rest = (rest == 0) | (is_lacking.sum(axis=1) == 1)
    counts = np.where(is_lacking & is_rest[:, None], rest[:, None], counts)
    low, high = counts, counts.copy()
    nodes = tree.nodes
    if isinstance(nodes, NodeTable) and nodes.bands is None:
        return LeafCounts(low, high, totals)
    for place, leaf in enumerate(leaves.tolist()):
        for code, band in enumerate(nodes[leaf].bands or ()):
            if band is not None and np.isnan(counts[place, code]):
                low[place, code], high[place, code] = np.ceil(band[0]), np.floor(band[1])
    return LeafCounts(low, high, totals)


def counts_all(tree: Tree, stops: IndexArray) -> bool:
    """Whether a tree says how many records of each class stop wherever candidates do, ``stops`` (G,)."""
    nodes = np.unique(stops)
    is_told = ~np.isnan(known_counts(tree, nodes).by_class).any()
    return bool(is_told and not is_inner(tree)[nodes].any())


def _leaf_rows(
    rows: MemberRows,
    candidates: Candidates,
    groups: IndexArray,
    counts: tuple[FloatArray, FloatArray, float],
    at: MemberPlace,
) -> bool | None:
    """Take the rows of one leaf; return whether it told anything, None where no candidates can be those it counts."""
    low, high, total = counts
    told = False
    for code, (least, most) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        if np.isnan(least):
            continue
        told = True
        ends = round(least), round(most)
        if candidates.class_of is None:
            rows.add(groups, ends, 1 + code, at)
        elif len(of_class := groups[candidates.class_of[groups] == code]):
            rows.add(of_class, ends, 1, at)
        elif ends[0] > 0:
            return None
    if np.isnan(total):
        return told
    if round(total) > candidates.sizes[groups].sum():
        return None
    rows.add_members(candidates, groups, (round(total), round(total)), at)
    return True


def _are_whole(counts: FloatArray) -> bool:
    there = counts[~np.isnan(counts)]
    return bool((np.abs(there - np.rint(there)) <= WHOLE_SLACK).all())
