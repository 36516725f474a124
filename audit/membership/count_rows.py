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
from treewarden.ppdm_models.tree.node_columns import class_counts_of, totals_of
from treewarden.ppdm_models.tree.tree import Tree

OUT = 0
"""The alternative of a candidate who is not in the table; the others are those of members."""
NO_COUNTS = Undetermined(
    "the file does not count the records of its leaves, and what else it says of members is not worked out"
)
NOT_PEOPLE = Undetermined("the counts of the file are no numbers of people")
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
        by_class, totals = class_counts_of(tree, nodes), totals_of(tree)[nodes]
        if not (_are_whole(by_class) and _are_whole(totals)):
            return NOT_PEOPLE
        for place, node in enumerate(nodes.tolist()):
            groups = order[starts[place] : starts[place + 1]]
            at = MemberPlace(number, node)
            told |= _leaf_rows(rows, candidates, groups, by_class[place], totals[place], at)
    return rows if told else NO_COUNTS


def _leaf_rows(
    rows: MemberRows,
    candidates: Candidates,
    groups: IndexArray,
    by_class: FloatArray,
    total: float,
    at: MemberPlace,
) -> bool:
    """Take the rows of one leaf; return whether it told anything."""
    for code, count in enumerate(by_class.tolist()):
        if np.isnan(count):
            continue
        whole = round(count)
        if candidates.class_of is None:
            rows.add(groups, (whole, whole), 1 + code, at)
        elif len(of_class := groups[candidates.class_of[groups] == code]):
            rows.add(of_class, (whole, whole), 1, at)
    if np.isnan(total):
        return bool((~np.isnan(by_class)).any())
    rows.add_members(candidates, groups, (round(total), round(total)), at)
    return True


def _are_whole(counts: FloatArray) -> bool:
    there = counts[~np.isnan(counts)]
    return bool((np.abs(there - np.rint(there)) <= WHOLE_SLACK).all())
