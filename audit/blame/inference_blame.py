"""The published number that tells most of an estimate: the one after whose withholding an adversary infers least.

Who is not proved may still be inferred. What is measured is how likely people's own values are on average by the
maximum-entropy estimate of all numbers, and of all numbers but one. Groups of people that no chain of rows connects
are estimated apart, so that a leaf of a single tree costs one small estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from treewarden.audit.blame.certainty import PublishedNumbers
from treewarden.audit.blame.result import InferenceBlame
from treewarden.audit.engine.counts import by_leaves, counts_of, propagate
from treewarden.audit.engine.newton_steps import estimate
from treewarden.audit.engine.problem import Problem
from treewarden.audit.engine.retained_estimate import RetainedEstimate
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray, IntArray

ALIKE_DECIMALS = 6
"""Decimals of people by which numbers are told apart: less is rounding, and the first of them is named."""
OUT_OF_TIME = Undetermined("the time for the estimate was used up")


@dataclass(frozen=True, slots=True, eq=False)
class _LinkedGroups:
    """Groups of people that some rows connect, with those rows and the numbers that they belong to."""

    groups: IndexArray
    rows: IndexArray
    numbers: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class _PartEstimate:
    """The estimate of a part of the people by all rows about them, and how many have the value drawn by it."""

    problem: Problem
    number_of_row: IndexArray
    truth: IntArray
    retained: RetainedEstimate | None
    right: float

    @classmethod
    def of_part(
        cls, numbers: PublishedNumbers, part: _LinkedGroups, until: Clock
    ) -> _PartEstimate | None:
        """Return the estimate of a part, None where the time for it is over."""
        some, truth = numbers.problem.select(part.rows), numbers.truth[part.groups]
        inside = sparse.csr_array(some.matrix[:, part.groups])
        problem = replace(some, matrix=inside, sizes=some.sizes[part.groups])
        found = _expected_right(problem, truth, until)
        if found is None:
            return None
        return cls(problem, numbers.number_of_row[part.rows], truth, *found)

    def right_without(self, number: int, until: Clock) -> float | None:
        """Return how many people have the value drawn by the estimate without a number; None where time is over."""
        is_withheld = self.number_of_row == number
        fewer = None if self.retained is None else self.retained.without(is_withheld)
        if fewer is not None:
            return float((self.truth * fewer.shares()).sum())
        problem = self.problem.select(np.flatnonzero(~is_withheld))
        found = _expected_right(problem, self.truth, until)
        return None if found is None else found[1]


def _expected_right(
    problem: Problem, truth: IntArray, until: Clock
) -> tuple[RetainedEstimate | None, float] | None:
    """Return the estimate, and how many people have the value that is drawn by it, as is expected."""
    counts = counts_of(problem)
    boxes = propagate(counts, by_leaves(counts))
    retained = RetainedEstimate.of_rows(counts, boxes, until)
    if retained is not None:
        return retained, float((truth * retained.shares()).sum())
    found = estimate(counts, boxes, until, proves=False).estimate
    if isinstance(found, Undetermined):
        return None
    return None, float((truth * found.values).sum())


def blame_inference(numbers: PublishedNumbers, until: Clock) -> InferenceBlame | Undetermined:
    """Return the number whose withholding lowers the average probability of people's own values most.

    Numbers about many people are tried first; where time ends, fewer are tried than there are.
    """
    parts, estimates = _parts(numbers), list[_PartEstimate]()
    for part in parts:
        found = None if until.is_over else _PartEstimate.of_part(numbers, part, until)
        if found is None:
            return OUT_OF_TIME
        estimates.append(found)
    parts_of_number: dict[int, list[_PartEstimate]] = {}
    for part, found in zip(parts, estimates, strict=True):
        for number in part.numbers:
            parts_of_number.setdefault(number, []).append(found)
    lowered: dict[int, float] = {}
    for number in _by_people(numbers):
        after = 0.0
        here = parts_of_number.get(number, [])
        for part_estimate in here:
            right = None if until.is_over else part_estimate.right_without(number, until)
            if right is None:
                break
            after += right
        else:
            lowered[number] = sum(part_estimate.right for part_estimate in here) - after
    if not lowered:
        return OUT_OF_TIME
    most = max(lowered, key=lambda number: (round(lowered[number], ALIKE_DECIMALS), -number))
    people, total = float(numbers.problem.sizes.sum()), sum(found.right for found in estimates)
    return InferenceBlame(
        number=most,
        before=total / people,
        after=(total - lowered[most]) / people,
        tried=len(lowered),
    )


def _parts(numbers: PublishedNumbers) -> list[_LinkedGroups]:
    """Return groups of people by what rows connect, with the numbers about them; people without rows are left out."""
    matrix = numbers.problem.matrix
    width = np.diff(matrix.indptr)
    if width.max(initial=0) == matrix.shape[1]:  # one row is about all people
        rows = np.flatnonzero(width > 0)
        here = frozenset(numbers.number_of_row[rows].tolist())
        return [_LinkedGroups(np.arange(matrix.shape[1]), rows, here)]
    is_entry = sparse.csr_array(
        (np.ones(len(matrix.data)), matrix.indices, matrix.indptr), shape=matrix.shape
    )
    graph = sparse.block_array([[None, is_entry], [is_entry.T, None]], format="csr")
    _, label = connected_components(graph, directed=False)
    of_row, of_group = label[: matrix.shape[0]], label[matrix.shape[0] :]
    order = np.argsort(of_group, kind="stable")
    starts = np.flatnonzero(np.diff(of_group[order], prepend=-1))
    found = []
    for groups in np.split(order, starts[1:]):
        rows = np.flatnonzero(of_row == of_group[groups[0]])
        here = frozenset(numbers.number_of_row[rows].tolist())
        found.append(_LinkedGroups(groups, rows, here))
    return found


def _by_people(numbers: PublishedNumbers) -> list[int]:
    """Return the numbers, those about most people first."""
    people = np.zeros(len(numbers.names))
    of_rows = np.asarray(numbers.problem.matrix @ numbers.problem.sizes, dtype=np.float64)
    for number, count in zip(numbers.number_of_row.tolist(), of_rows.tolist(), strict=True):
        if number >= 0:
            people[number] = max(people[number], count)
    return list(map(int, np.argsort(-people, kind="stable")))
