"""The estimate where other splits on known columns would beat the chosen ones: with what the choice says put in.

What a candidate leaves of impurity is concave in the estimate and grows with it, so its tangents bound it from above:
tables in which no candidate is better fulfil every tangent's row. Rows that are broken are put in as tangents, the
greatest entropy under them is found by its dual in one multiplier each, and what that breaks is put in again. The dual
bounds the greatest entropy of all tables that fulfil the rows, and so how far the result is from the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from audit.estimate.posterior import Posterior
from audit.partial.allowance import Allowance
from audit.partial.margins import (
    CELL,
    HELD,
    MOST_CELLS,
    MOST_GAP,
    ROUNDS,
    SPARE,
    Lumps,
    Margins,
    lumped,
    off_by,
)
from audit.partial.multipliers import Slopes
from audit.partial.network import Network
from audit.partial.splits import CLOSE, Choice, leaves_below, left_of
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from ppdm_models.tree.column import NumericColumn
from ppdm_models.tree.impurity import Criterion

MOST_WHOLE = 10_000_000
"""Profiles times leaves times classes up to which the choice of splits is put in: 80 MB."""


@dataclass(frozen=True, slots=True)
class Some:
    """Some of the people: all of some classes. ``people`` (P,) are those of each profile, of the lump ``lump`` (P,).

    They can be where ``net`` says, over the leaves ``leaves`` (L',) of all L, which hold nobody else of ``classes``.
    """

    people: FloatArray
    lump: IndexArray
    net: Network
    leaves: IndexArray
    classes: IndexArray


@dataclass(frozen=True, slots=True)
class Problem:
    """People of P profiles over L leaves, (L, m) of each class: in ``parts``, where everybody's class is known."""

    choice: Choice
    parts: tuple[Some, ...]
    classes: FloatArray

    @property
    def people(self) -> FloatArray:
        """How many people each profile has, (P,)."""
        return np.asarray(np.sum([each.people for each in self.parts], axis=0))


@dataclass(frozen=True, slots=True)
class Under:
    """The people, (P, L, m), as somebody believes them to be spread who heeds the choice of splits.

    ``gap`` bounds how far it is from the optimum, in records times nats; ``is_sure`` says that all rows that were put
    in bind in every table.
    """

    table: FloatArray
    gap: float
    is_sure: bool


@dataclass(frozen=True, slots=True)
class _Where:
    """The profile of each group of people, (R,), and the leaf and class of each place, (J,).

    Groups of one ``lump`` can be at the same places, and the same can be at places that are ``alike``.
    """

    profile: IndexArray
    leaf: IndexArray
    klass: IndexArray
    lump: IndexArray
    alike: IndexArray

    def lumps(self, margins: Margins, cuts: Collection[_Cut]) -> Lumps:
        """Return the margins in lumps that no cut tells apart."""
        groups = np.stack([self.lump, *(cut.branch[self.profile] for cut in cuts)])
        places = np.stack([self.alike, *(cut.here[self.leaf] for cut in cuts)])
        return lumped(margins, groups, places)

    def of(self, lumps: Lumps) -> _Where:
        """Return the same of one of each lump."""
        groups, places = lumps.first_group, lumps.first_place
        return _Where(
            self.profile[groups],
            self.leaf[places],
            self.klass[places],
            self.lump[groups],
            self.alike[places],
        )

    def spread(self, table: FloatArray, shape: tuple[int, int, int]) -> FloatArray:
        """Return people by group and place, (R, J), by profile, leaf and class."""
        found = np.zeros(shape)
        np.add.at(found, (self.profile[:, None], self.leaf, self.klass), table)
        return found

    def slopes(self, cut: _Cut) -> Slopes:
        """Return a row over groups and places."""
        value = np.where(cut.here[self.leaf], cut.slope[:, self.klass], 0.0)
        branch, least = cut.branch[self.profile], np.array([cut.least])
        return Slopes(branch, sparse.csr_array(value.reshape(1, -1)), least, np.zeros(1, bool))


@dataclass(frozen=True, slots=True)
class _Cut:
    """A row: over the people at leaves ``here`` (L,), each in a branch (P,), ``slope`` (B, m) sums to ``least``."""

    here: BoolArray
    branch: IndexArray
    slope: FloatArray
    least: float
    is_sure: bool

    @property
    def key(self) -> bytes:
        """Which candidate it is a tangent of."""
        return self.here.tobytes() + self.branch.tobytes()


def enforced(problem: Problem, without: FloatArray, allowance: Allowance) -> Posterior | None:
    """Return the estimate with what the choice of splits says put in; None where it was not found, or is too large.

    A candidate binds only if a learner could have compared it. Where a branch of one may have too few people for that
    in some table, the ends span this estimate and that ``without`` such rows, (P, m).
    """
    under = table_under(problem, allowance)
    if under is None:
        return None
    found = _posterior(problem, under.table, under.gap)
    return found if under.is_sure else _spanning(found, without)


def table_under(problem: Problem, allowance: Allowance) -> Under | None:
    """Return the people as they are spread with the rows put in; None where it was not found, or is too large."""
    shape = len(problem.people), *problem.classes.shape
    if math.prod(shape) > MOST_WHOLE:
        return None
    margins, where = _margins(problem)
    cuts: dict[bytes, _Cut] = {}
    lumps = where.lumps(margins, cuts.values())
    flat, gap = lumps.margins.scaled()
    chosen, places, prices, is_sure = _chosen(problem), np.zeros(0), np.zeros(0), True
    for _ in range(ROUNDS):
        cells = lumps.margins.can.size
        if cells > MOST_CELLS or not allowance.spend(CELL * cells):
            return None
        table = where.spread(lumps.apart(flat), shape)
        broken = []
        for each in _broken(problem, table, chosen):
            if each is None:
                return None
            broken.append(each)
        if not broken:
            return None if gap > MOST_GAP else Under(table, gap, is_sure)
        is_sure = is_sure and all(each.is_sure for each in broken)
        cuts.update((each.key, each) for each in broken)
        lumps = where.lumps(margins, cuts.values())
        one = where.of(lumps)
        rows = [one.slopes(each) for each in cuts.values()]
        start = np.append(lumps.of_lumps(places), prices) if len(places) else prices
        held = lumps.margins.under(rows, start, allowance)
        if held is None:
            return None
        flat, gap, number = held.table, held.gap, len(lumps.first_place)
        places, prices = lumps.of_places(held.multipliers[:number]), held.multipliers[number:]
    return None


def _spanning(found: Posterior, without: FloatArray) -> Posterior:
    low, high = np.minimum(found.low, without), np.maximum(found.high, without)
    return Posterior(found.values, found.decided, low, high)


def _posterior(problem: Problem, table: FloatArray, gap: float) -> Posterior:
    """Return the shares of each profile, (P, m), and between which ends those of the optimum are (Pinsker)."""
    values = table.sum(axis=1) / problem.people[:, None]
    off = off_by(gap, problem.people)[:, None]
    decided = np.ones(len(values), dtype=bool)
    return Posterior(values, decided, np.maximum(values - off, 0.0), np.minimum(values + off, 1.0))


def _margins(problem: Problem) -> tuple[Margins, _Where]:
    """Return the people of all parts as groups over places: each part's profiles, over leaves by class."""
    leaf, klass = np.nonzero(problem.classes > 0)
    can, of, supply, block, lump = [], [], [], [], []
    place_block, blocks, lumps = np.zeros(len(leaf), dtype=np.intp), 0, 0
    alike = np.zeros(len(leaf), dtype=np.intp)
    for part in problem.parts:
        profiles = np.flatnonzero(part.people > 0)
        is_able, block_of_leaf = _over_all_leaves(part, len(problem.classes))
        is_own = np.isin(klass, part.classes)
        can.append(is_able[part.lump[profiles]][:, leaf] & is_own)
        of.append(profiles)
        supply.append(part.people[profiles])
        block.append(part.net.block_of_lump[part.lump[profiles]] + blocks)
        place_block[is_own] = block_of_leaf[leaf[is_own]] + blocks
        lump.append(part.lump[profiles] + lumps)
        group_of_leaf = np.zeros(len(problem.classes), dtype=np.intp)
        group_of_leaf[part.leaves] = part.net.group_of
        alike[is_own] = group_of_leaf[leaf[is_own]] * len(problem.classes[0]) + klass[is_own]
        blocks += 1 + int(part.net.block_of_lump.max())
        lumps += len(part.net.supply)
    margins = Margins(
        np.concatenate(can),
        np.concatenate(supply),
        problem.classes[leaf, klass],
        np.concatenate(block),
        place_block,
    )
    return margins, _Where(np.concatenate(of), leaf, klass, np.concatenate(lump), alike)


def _over_all_leaves(part: Some, leaves: int) -> tuple[BoolArray, IndexArray]:
    """Return where the lumps of a part can be among all leaves, (S, L), and the block of each leaf, -1 without one."""
    net = part.net
    can = np.zeros((len(net.supply), leaves), dtype=bool)
    can[:, part.leaves] = net.movable.toarray()[:, net.group_of] > 0
    block_of_leaf = np.full(leaves, -1, dtype=np.intp)
    block_of_leaf[part.leaves] = net.block_of_group[net.group_of]
    return can, block_of_leaf


def _chosen(problem: Problem) -> dict[int, tuple[BoolArray, float]]:
    """Return of each inner node the leaves below it, (L,), and what its chosen split leaves of impurity."""
    below, found = leaves_below(problem.choice.tree, problem.choice.nodes), {}
    for node in problem.choice.tree.nodes:
        if node.is_leaf:
            continue
        counts = np.stack([problem.classes[below[child]].sum(axis=0) for child in node.children])
        here = np.zeros(len(problem.choice.nodes), dtype=bool)
        here[below[node.index]] = True
        found[node.index] = here, float(left_of(counts, problem.choice.criterion).sum())
    return found


def _broken(
    problem: Problem, table: FloatArray, chosen: Mapping[int, tuple[BoolArray, float]]
) -> Iterator[_Cut | None]:
    """Yield a tangent of the worst broken row of each column at each node; None where a learner may not have it."""
    for feature in problem.choice.tree.features:
        column = problem.choice.columns.get(feature.name)
        if column is None:
            continue
        assert column.keys is not None
        values, of = np.unique(column.keys, return_inverse=True)
        of = of.reshape(-1)
        for node, (here, left) in chosen.items():
            is_sure = problem.choice.sure.get((node, feature.name))
            if is_sure is None or not is_sure.any():
                continue
            held = np.zeros((len(values), table.shape[2]))
            np.add.at(held, of, table[:, here, :].sum(axis=1))
            size = held.sum()
            is_number = isinstance(column, NumericColumn)
            branches = _worst(held, is_sure, problem, is_number=is_number)
            if branches is None:
                continue
            counts = np.zeros((branches.max() + 1, held.shape[1]))
            np.add.at(counts, branches, held)
            own = float(left_of(counts, problem.choice.criterion).sum())
            if own >= left - max(HELD, CLOSE) * max(size, 1.0):
                continue
            branch = branches[of]
            is_real = is_number or problem.choice.tree.learner.multiway
            if not is_real:
                yield None
                return
            is_large = _is_admissible(problem, here, branch)
            yield _Cut(
                here,
                branch,
                _slope(counts, problem.choice.criterion),
                left - SPARE * size,
                is_large,
            )


def _worst(
    held: FloatArray, is_sure: BoolArray, problem: Problem, *, is_number: bool
) -> IndexArray | None:
    """Return the branch of each value under the candidate that leaves least, (V,); None where there is none."""
    if not is_number:
        return np.arange(len(held), dtype=np.intp) if len(held) > 1 else None
    one = np.cumsum(held, axis=0)[:-1]
    other = np.maximum(held.sum(axis=0) - one, 0.0)
    is_compared = (
        is_sure
        & (one.sum(axis=1) >= problem.choice.least)
        & (other.sum(axis=1) >= problem.choice.least)
    )
    if not is_compared.any():
        return None
    own = left_of(one, problem.choice.criterion) + left_of(other, problem.choice.criterion)
    at = int(np.where(is_compared, own, np.inf).argmin())
    return np.asarray(np.arange(len(held)) > at, dtype=np.intp)


def _slope(counts: FloatArray, criterion: Criterion) -> FloatArray:
    """Return how what is left of impurity grows with each class of each branch, (B, m)."""
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    if criterion is Criterion.GINI:
        return np.asarray(1 - 2 * shares + (shares**2).sum(axis=1, keepdims=True))
    return np.asarray(-np.log(np.maximum(shares, 1e-12)))


def _is_admissible(problem: Problem, here: BoolArray, branch: IndexArray) -> bool:
    """Return whether each branch of a candidate has as many people as a learner asks for, in every table that fits."""
    if problem.choice.least <= 1:
        return True
    return all(
        sum(_fewest(problem, part, here, branch == each) for part in problem.parts)
        >= problem.choice.least
        for each in np.unique(branch)
    )


def _fewest(problem: Problem, part: Some, here: BoolArray, some: BoolArray) -> float:
    """Return a number of people of some profiles that is at some leaves in every table: those who fit nowhere else."""
    net, sizes = part.net, problem.classes[:, part.classes].sum(axis=1)
    held = np.rint(np.bincount(part.lump[some], part.people[some], len(net.supply)))
    lumps, leaves = len(held), int((~here).sum())
    can = _over_all_leaves(part, len(here))[0][:, ~here]
    rows, columns = np.nonzero(can)
    source, sink = lumps + leaves, lumps + leaves + 1
    start = np.concatenate([np.full(lumps, source), rows, lumps + np.arange(leaves)])
    end = np.concatenate([np.arange(lumps), lumps + columns, np.full(leaves, sink)])
    most = np.concatenate([held, held[rows], np.rint(sizes[~here])]).astype(np.int32)
    graph = sparse.csr_array((most, (start, end)), shape=(sink + 1, sink + 1))
    return float(held.sum() - csgraph.maximum_flow(graph, source, sink).flow_value)
