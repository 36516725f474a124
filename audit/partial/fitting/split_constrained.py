"""The split-constrained estimate: people spread over leaves such that no other split beats the chosen one.

People are lumped as far as no cutting plane tells them apart; the greatest entropy under the planes is found by its
dual.

What a candidate leaves of impurity is concave in the estimate and grows with it, so its tangents bound it from above:
tables in which no candidate is better fulfil every tangent's row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from treewarden.audit.entropy.posterior import Posterior
from treewarden.audit.partial.fitting.flows import MOST_PEOPLE, Allowance, Network
from treewarden.audit.partial.fitting.margins import (
    HELD,
    MOST_GAP,
    ROUNDS,
    SPARE,
    Margins,
    posterior_near,
)
from treewarden.audit.partial.fitting.multipliers import Slopes
from treewarden.audit.partial.fitting.splits import (
    ColumnCandidates,
    PlacedEstimate,
    SplitChoiceView,
    besides,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, alike
from treewarden.ppdm_models.tree.nodes import Criterion


@dataclass(frozen=True, slots=True)
class CutProblem:
    """People of P profiles over L leaves, ``classes`` (L, m) of each class: they can be where ``net`` says.

    ``held`` has them, by class, as they are believed to be without what the choice says; its places are the groups of
    ``net``. ``gap`` (S,) bounds how far that is from the optimum, as in ``FittedMargins``.
    """

    choice: SplitChoiceView
    held: PlacedEstimate
    net: Network
    gap: FloatArray
    classes: FloatArray

    @property
    def people(self) -> FloatArray:
        """How many people each profile has, (P,)."""
        return self.held.people


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


def broken(problem: CutProblem, placed: PlacedEstimate) -> Iterator[CuttingPlane | None]:
    """Yield a tangent of the worst broken row of each column at each node; None where a learner may not have it.

    ``placed`` are the people, by class, as they are believed to be.
    """
    choice = problem.choice
    chosen = choice.left(problem.classes)
    for beside in besides(choice, placed):
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
        _fewest(problem, here, branch == each) >= problem.choice.least for each in np.unique(branch)
    )


def _fewest(problem: CutProblem, here: BoolArray, is_in_branch: BoolArray) -> float:
    """Return a number of people of some profiles that is at some leaves in every table: those who fit nowhere else."""
    net, placed = problem.net, problem.held
    classes = placed.over.shape[1] // len(here)
    people = np.bincount(placed.lump[is_in_branch], placed.people[is_in_branch], len(net.supply))
    if net.supply.sum() > MOST_PEOPLE:
        return 0.0
    held = np.rint(people).astype(np.int32)
    # Of a group of leaves that many people can be elsewhere than at these leaves.
    elsewhere = placed.over @ np.repeat(~here, classes)
    room = np.rint(net.demand * elsewhere).astype(np.int32)
    lumps, groups = net.movable.shape
    arcs = net.movable.tocoo()
    source, sink = lumps + groups, lumps + groups + 1
    start = np.concatenate([np.full(lumps, source), arcs.row, lumps + np.arange(groups)])
    end = np.concatenate([np.arange(lumps), lumps + arcs.col, np.full(groups, sink)])
    most = np.concatenate([held, held[arcs.row], room])
    graph = sparse.csr_array((most, (start, end)), shape=(sink + 1, sink + 1))
    return float(held.sum() - csgraph.maximum_flow(graph, source, sink).flow_value)


# Lumps of people whom no row of the choice of splits tells apart, where such rows are about them at all.
#
# In a block of the network of which no row speaks people are as without rows. Elsewhere profiles of a lump are told
# apart by their branches, but only those that can be where the row speaks; leaves of a group by whether it speaks of
# them, and only then by class. What is told apart by nothing is shared by size in the table of greatest entropy.


@dataclass(frozen=True, slots=True)
class CutLumps:
    """People as far as rows speak of them: R lumps over J places, ``margins``, and everybody else.

    ``group`` (P,) is the lump of each profile: lumps of the network of whom no row speaks, ``others``, come after the
    R. ``branch`` (C, R) is the branch that each is in of each cut. ``spoken`` (C, J) says which places a cut speaks of,
    ``klass`` (J,) the class of these. ``place`` (K,) is the place of each of K leaves by class, ``at`` (K,) as the
    columns of ``Held.over`` number them; ``demand`` (K,) are its people. ``gap`` is that of the others.
    """

    held: PlacedEstimate
    group: IndexArray
    others: IndexArray
    branch: IndexArray
    at: IndexArray
    place: IndexArray
    demand: FloatArray
    spoken: BoolArray
    klass: IndexArray
    margins: Margins
    gap: float

    def place_people(self, table: sparse.csr_array) -> PlacedEstimate:
        """Return the people, given those of the lumps by place, (R, J)."""
        placed_estimate = self.held
        rows = sparse.diags_array(1 / self.margins.supply) @ table
        places = sparse.block_diag([rows, placed_estimate.places[self.others]], format="csr")
        share = self.demand / self.margins.demand[self.place]
        shape = len(self.margins.demand), placed_estimate.over.shape[1]
        over = sparse.csr_array((share, (self.place, self.at)), shape=shape)
        return replace(
            placed_estimate,
            lump=self.group,
            places=sparse.csr_array(places),
            over=sparse.csr_array(sparse.vstack([over, placed_estimate.over])),
        )

    def of_places(self, of_cell: FloatArray) -> FloatArray:
        """Return multipliers of the places, (J,), given those of leaves and classes, (L * m,)."""
        found = np.full(len(self.margins.demand), -np.inf)
        np.logaddexp.at(found, self.place, of_cell[self.at])
        return found

    def of_cells(self, of_place: FloatArray) -> FloatArray:
        """Return multipliers of the leaves and classes ``at``, (K,), given those of their places, (J,)."""
        share = self.demand / self.margins.demand[self.place]
        return np.asarray(of_place[self.place] + np.log(share))


def lump_people(problem: CutProblem, cuts: Collection[CuttingPlane]) -> CutLumps:
    """Return the people in lumps."""
    net, placed_estimate, classes = problem.net, problem.held, problem.classes.shape[1]
    cells = placed_estimate.over.tocoo()
    kept = problem.classes.ravel()[cells.col] > 0
    at, of_group = cells.col[kept].astype(np.intp), cells.row[kept].astype(np.intp)
    leaf, klass = np.divmod(at, classes)
    speaks = np.stack([cut.here for cut in cuts])[:, leaf]
    cut, cell = np.nonzero(speaks)
    shape = len(cuts), net.groups
    by_group = sparse.csr_array((np.ones(len(cut)), (cut, of_group[cell])), shape=shape)
    is_reached = (net.movable @ by_group.T).toarray() > 0
    blocks = np.unique(net.block_of_group[of_group[cell]])
    is_inside = np.isin(net.block_of_lump, blocks)
    profiles = np.flatnonzero((placed_estimate.people > 0) & is_inside[placed_estimate.lump])
    own = placed_estimate.lump[profiles]
    sides = [
        np.where(is_reached[own, i], cutting_plane.branch[profiles], 0)
        for i, cutting_plane in enumerate(cuts)
    ]
    first, group = alike([own, *sides])
    others = np.flatnonzero(~is_inside)
    number = np.zeros(len(net.supply), dtype=np.intp)
    number[others] = len(first) + np.arange(len(others))
    of_profile = number[placed_estimate.lump]
    of_profile[profiles] = group
    chosen = np.flatnonzero(np.isin(net.block_of_group[of_group], blocks))
    at, of_group, klass, speaks = at[chosen], of_group[chosen], klass[chosen], speaks[:, chosen]
    is_spoken = speaks.any(axis=0)
    told = np.packbits(speaks, axis=0).astype(np.intp)
    first_place, place = alike([of_group, np.where(is_spoken, klass, -1), *told])
    demand = problem.classes.ravel()[at]
    lump = own[first]
    margins = Margins(
        sparse.csr_array(net.movable[lump][:, of_group[first_place]]),
        np.bincount(group, placed_estimate.people[profiles], len(first)).astype(np.float64),
        np.bincount(place, demand, len(first_place)).astype(np.float64),
        net.block_of_lump[lump],
        net.block_of_group[of_group[first_place]],
    )
    # The gap of a block stands at each of its lumps.
    _, one = np.unique(net.block_of_lump[others], return_index=True)
    return CutLumps(
        held=placed_estimate,
        group=of_profile,
        others=others,
        branch=np.stack([cutting_plane.branch[profiles[first]] for cutting_plane in cuts]),
        at=at,
        place=place,
        demand=demand,
        spoken=speaks[:, first_place],
        klass=klass[first_place],
        margins=margins,
        gap=float(problem.gap[others[one]].sum()),
    )


def slopes(lumps: CutLumps, cuts: Collection[CuttingPlane]) -> list[Slopes]:
    """Return each cut as a row over the lumps and places."""
    found = []
    for number, cut in enumerate(cuts):
        value = np.where(lumps.spoken[number], cut.slope[:, lumps.klass], 0.0)
        row = sparse.csr_array(value.reshape(1, -1))
        least, is_equal = np.array([cut.least]), np.zeros(1, dtype=bool)
        found.append(Slopes(lumps.branch[number], row, least, is_equal))
    return found


# The split-constrained estimate, where other splits on known columns would otherwise beat the chosen ones.
#
# Rows that are broken are put in as tangents, the greatest entropy under them is found by its dual in one multiplier
# each, and what that breaks is put in again. The dual bounds the greatest entropy of all tables that fulfil the rows,
# and so how far the result is from the optimum.

SMALLEST = 1e-300


@dataclass(frozen=True, slots=True)
class SplitConstrained:
    """The people as they are spread where the choice of splits is put in.

    ``gap`` bounds how far it is from the optimum, in records times nats, what rows have to spare included; ``is_sure``
    says that all rows that were put in bind in every table.
    """

    held: PlacedEstimate
    gap: float
    is_sure: bool


def estimate_under_splits(
    problem: CutProblem, without: FloatArray, allowance: Allowance
) -> Posterior | None:
    """Return the estimate with what the choice of splits says put in; None where it was not found, or is too large.

    A candidate binds only if a learner could have compared it. Where a branch of one may have too few people for that
    in some table, the ends span this estimate and that ``without`` such rows, (P, m).
    """
    under = fit_under_splits(problem, allowance)
    if under is None:
        return None
    values = under.held.of_each_class(problem.classes.shape[1]) / problem.people[:, None]
    posterior = posterior_near(values, values, values, under.gap, problem.people)
    return posterior if under.is_sure else _spanning(posterior, without)


def fit_under_splits(problem: CutProblem, allowance: Allowance) -> SplitConstrained | None:
    """Return the people as they are spread with the rows put in; None where it was not found, or is too large."""
    cuts: list[CuttingPlane] = []
    held, gap, spare = problem.held, 0.0, 0.0
    start = _StartMultipliers(np.log(np.maximum(problem.classes.ravel(), SMALLEST)), np.zeros(0))
    for _ in range(ROUNDS):
        cutting_planes = list(broken(problem, held))
        if not cutting_planes:
            is_sure = all(cut.is_sure for cut in cuts)
            return None if gap > MOST_GAP else SplitConstrained(held, gap + spare, is_sure)
        new = [cutting_plane for cutting_plane in cutting_planes if cutting_plane is not None]
        if len(new) < len(cutting_planes):
            return None
        # An older tangent of the same candidate that does not hold the table back is none that has to stay.
        again = {cutting_plane.key for cutting_plane in new}
        kept = [
            i
            for i, cutting_plane in enumerate(cuts)
            if start.of_row[i] > 0 or cutting_plane.key not in again
        ]
        cuts, start = [*(cuts[i] for i in kept), *new], replace(start, of_row=start.of_row[kept])
        lumps = lump_people(problem, cuts)
        fitted_table = lumps.margins.under(slopes(lumps, cuts), start.over(lumps), allowance)
        if fitted_table is None:
            return None
        gap = fitted_table.gap + lumps.gap
        held = lumps.place_people(fitted_table.table)
        start = start.after(lumps, fitted_table.multipliers)
        # Without what rows have to spare the greatest entropy is less, by about that.
        spare = float(np.abs(start.of_row) @ np.array([cut.spare for cut in cuts]))
    return None


@dataclass(frozen=True, slots=True)
class _StartMultipliers:
    """Multipliers to start from: of each leaf and class, (L * m,), and of the rows there were."""

    of_cell: FloatArray
    of_row: FloatArray

    def over(self, lumps: CutLumps) -> FloatArray:
        """Return multipliers of the places, then of the rows."""
        return np.concatenate([lumps.of_places(self.of_cell), self.of_row])

    def after(self, lumps: CutLumps, multipliers: FloatArray) -> _StartMultipliers:
        """Return what was found, given multipliers of the places, then of the rows."""
        of_cell, (places, rows) = (
            self.of_cell.copy(),
            np.split(multipliers, [len(lumps.margins.demand)]),
        )
        of_cell[lumps.at] = lumps.of_cells(places)
        return _StartMultipliers(of_cell, rows)


def _spanning(posterior: Posterior, without: FloatArray) -> Posterior:
    low, high = np.minimum(posterior.low, without), np.maximum(posterior.high, without)
    return Posterior(posterior.values, posterior.decided, low, high)
