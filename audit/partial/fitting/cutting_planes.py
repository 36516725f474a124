"""Other splits on known columns that would beat the chosen ones at an estimate, as rows that rule this out.

What a candidate leaves of impurity is concave in the estimate and grows with it, so its tangents bound it from above:
tables in which no candidate is better fulfil every tangent's row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from treewarden.audit.partial.fitting.flows import MOST_PEOPLE, Network
from treewarden.audit.partial.fitting.margins import HELD, SPARE
from treewarden.audit.partial.fitting.splits import (
    ColumnCandidates,
    PlacedEstimate,
    SplitChoiceView,
    besides,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.nodes import Criterion


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """Some of the people: all of some classes. They can be where ``net`` says.

    ``held`` has them, by class, as they are believed to be without what the choice says; its places are the groups of
    ``net``. ``gap`` (S,) bounds how far that is from the optimum, as in ``FittedMargins``.
    """

    held: PlacedEstimate
    net: Network
    gap: FloatArray


@dataclass(frozen=True, slots=True)
class CutProblem:
    """People of P profiles over L leaves, (L, m) of each class: in ``parts``, where everybody's class is known."""

    choice: SplitChoiceView
    parts: tuple[PlacedPart, ...]
    classes: FloatArray

    @property
    def people(self) -> FloatArray:
        """How many people each profile has, (P,)."""
        return np.asarray(np.sum([some.held.people for some in self.parts], axis=0))


@dataclass(frozen=True, slots=True)
class CuttingPlane:
    """A row: over the people at leaves ``here`` (L,), each in a branch (P,), ``slope`` (B, m) sums to ``least``.

    An estimate may lack ``spare`` of what is asked for. ``is_sure`` says that it binds in every table: each branch has
    the people that a learner asks for.
    """

    here: BoolArray
    branch: IndexArray
    slope: FloatArray
    least: float
    spare: float
    is_sure: bool

    @property
    def key(self) -> bytes:
        """Which candidate it is a tangent of."""
        return self.here.tobytes() + self.branch.tobytes()


def broken(problem: CutProblem, parts: Sequence[PlacedEstimate]) -> Iterator[CuttingPlane | None]:
    """Yield a tangent of the worst broken row of each column at each node; None where a learner may not have it.

    ``parts`` are all people, by class, as they are believed to be.
    """
    choice = problem.choice
    chosen = choice.left(problem.classes)
    for beside in besides(choice, parts):
        best = beside.left.argmin(axis=1)
        least, size = beside.left.min(axis=1), beside.people
        lacking = least < chosen[beside.nodes] - HELD * np.maximum(size, 1.0)
        for number in np.flatnonzero(lacking).tolist():
            if not (beside.is_number or choice.tree.learner.multiway):
                yield None
                return
            node = int(beside.nodes[number])
            here = np.zeros(len(choice.nodes), dtype=bool)
            here[choice.below[[node]].indices] = True
            branch, counts = _branches(beside, number, int(best[number]))
            yield CuttingPlane(
                here,
                branch,
                _slope(counts, choice.criterion),
                chosen[node] - SPARE * size[number],
                HELD * float(size[number]),
                _is_admissible(problem, here, branch),
            )


def _branches(beside: ColumnCandidates, number: int, cut: int) -> tuple[IndexArray, FloatArray]:
    """Return the branch of each profile, (P,), under the best candidate at a node, and the people of each, (B, m)."""
    table, there = beside.table[number], beside.there[number]
    if beside.is_number:
        counts = np.stack([table[: cut + 1].sum(axis=0), table[cut + 1 :].sum(axis=0)])
        return np.asarray(beside.of > there[cut], dtype=np.intp), counts
    size = int(table.any(axis=1).sum())
    # A value that nobody there has goes with the next one: nobody of it can be there.
    branch = np.searchsorted(there[:size], beside.of).clip(max=size - 1)
    return np.asarray(branch, dtype=np.intp), table[:size]


def _slope(counts: FloatArray, criterion: Criterion) -> FloatArray:
    """Return how what is left of impurity grows with each class of each branch, (B, m)."""
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    if criterion is Criterion.GINI:
        return np.asarray(1 - 2 * shares + (shares**2).sum(axis=1, keepdims=True))
    return np.asarray(-np.log(np.maximum(shares, 1e-12)))


def _is_admissible(problem: CutProblem, here: BoolArray, branch: IndexArray) -> bool:
    """Return whether each branch of a candidate has as many people as a learner asks for, in every table that fits."""
    if problem.choice.least <= 1:
        return True
    return all(
        sum(_fewest(part, here, branch == each) for part in problem.parts) >= problem.choice.least
        for each in np.unique(branch)
    )


def _fewest(part: PlacedPart, here: BoolArray, is_in_branch: BoolArray) -> float:
    """Return a number of people of some profiles that is at some leaves in every table: those who fit nowhere else."""
    net, classes = part.net, part.held.over.shape[1] // len(here)
    people = np.bincount(
        part.held.lump[is_in_branch], part.held.people[is_in_branch], len(net.supply)
    )
    if net.supply.sum() > MOST_PEOPLE:
        return 0.0
    held = np.rint(people).astype(np.int32)
    # Of a group of leaves that many people can be elsewhere than at these leaves.
    elsewhere = part.held.over @ np.repeat(~here, classes)
    room = np.rint(net.demand * elsewhere).astype(np.int32)
    lumps, groups = net.movable.shape
    arcs = net.movable.tocoo()
    source, sink = lumps + groups, lumps + groups + 1
    start = np.concatenate([np.full(lumps, source), arcs.row, lumps + np.arange(groups)])
    end = np.concatenate([np.arange(lumps), lumps + arcs.col, np.full(groups, sink)])
    most = np.concatenate([held, held[arcs.row], room])
    graph = sparse.csr_array((most, (start, end)), shape=(sink + 1, sink + 1))
    return float(held.sum() - csgraph.maximum_flow(graph, source, sink).flow_value)
