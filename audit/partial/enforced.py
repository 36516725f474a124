"""The estimate where other splits on known columns would beat the chosen ones: with what the choice says put in.

What a candidate leaves of impurity is concave in the estimate and grows with it, so its tangents bound it from above:
tables in which no candidate is better fulfil every tangent's row. Rows that are broken are put in as tangents, the
greatest entropy under them is found by its dual in one multiplier each, and what that breaks is put in again. The dual
bounds the greatest entropy of all tables that fulfil the rows, and so how far the result is from the optimum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from audit.estimate.posterior import Posterior
from audit.partial.allowance import Allowance
from audit.partial.multipliers import Slope, multipliers
from audit.partial.network import Network
from audit.partial.scaling import weighed
from audit.partial.splits import CLOSE, Choice, leaves_below, left_of
from ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from ppdm_models.tree.column import NumericColumn
from ppdm_models.tree.impurity import Criterion

MOST_CELLS = 1_000_000
"""Profiles times leaves times classes up to which it is tried."""
ROUNDS = 25
CELL = 1e3
"""Operations that a round takes for each profile, leaf and class: its table is scaled to the margins."""
HELD = 1e-6
"""A row holds where it is broken by less, for each record of its node."""
MOST_GAP = 1e-5
"""In records times nats: how far the result may be from the optimum."""


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
class _Cut:
    """A row: over the people at leaves ``here`` (L,), each in a branch (P,), ``slope`` (B, m) sums to ``least``."""

    here: BoolArray
    branch: IndexArray
    slope: FloatArray
    least: float
    is_sure: bool


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
    cells = problem.classes > 0
    if len(problem.people) * int(cells.sum()) > MOST_CELLS:
        return None
    table = _solved(problem, ())
    cuts: list[_Cut] = []
    chosen = _chosen(problem)
    gap, prices = 0.0, np.zeros(0)
    for _ in range(ROUNDS):
        if not allowance.spend(CELL * table.size):
            return None
        broken = []
        for each in _broken(problem, table, chosen):
            if each is None:
                return None
            broken.append(each)
        if not broken:
            return None if gap > MOST_GAP else Under(table, gap, all(cut.is_sure for cut in cuts))
        cuts += broken
        solved = _under(problem, tuple(cuts), prices, allowance)
        if solved is None:
            return None
        table, gap, prices = solved
    return None


def off_by(gap: float, people: FloatArray) -> FloatArray:
    """Return how far a share of so many people is from that of the optimum at most (Pinsker)."""
    return np.asarray(np.sqrt(max(gap, 0.0) / (2 * people)))


def _spanning(found: Posterior, without: FloatArray) -> Posterior:
    low, high = np.minimum(found.low, without), np.maximum(found.high, without)
    return Posterior(found.values, found.decided, low, high)


def _posterior(problem: Problem, table: FloatArray, gap: float) -> Posterior:
    """Return the shares of each profile, (P, m), and between which ends those of the optimum are (Pinsker)."""
    values = table.sum(axis=1) / problem.people[:, None]
    off = off_by(gap, problem.people)[:, None]
    decided = np.ones(len(values), dtype=bool)
    return Posterior(values, decided, np.maximum(values - off, 0.0), np.minimum(values + off, 1.0))


def _under(
    problem: Problem, cuts: tuple[_Cut, ...], start: FloatArray, allowance: Allowance
) -> tuple[FloatArray, float, FloatArray] | None:
    """Return the table of greatest entropy under the rows, how far it is from the optimum, and all multipliers.

    ``start`` are those to start from. None where none was found.
    """
    leaf, klass = np.nonzero(problem.classes > 0)
    can, of, supply = [], [], []
    for part in problem.parts:
        profiles = np.flatnonzero(part.people > 0)
        is_able, _ = _over_all_leaves(part, len(problem.classes))
        can.append(is_able[part.lump[profiles]][:, leaf] & np.isin(klass, part.classes))
        of.append(profiles)
        supply.append(part.people[profiles])
    branches = np.concatenate(of)
    slopes = [
        Slope(cut.branch[branches], np.where(cut.here[leaf], cut.slope[:, klass], 0.0), cut.least)
        for cut in cuts
    ]
    demand = problem.classes[leaf, klass]
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            found = multipliers(
                np.concatenate(can), np.concatenate(supply), demand, slopes, start, allowance
            )
            if found is None:
                return None
            prices = found[len(demand) :]
            table = _solved(problem, cuts, prices)
    except (FloatingPointError, ValueError, np.linalg.LinAlgError):
        return None
    slack = np.array([_over(problem, cut, table) - cut.least for cut in cuts])
    # The table is the best of all by the entropy and the rows at these prices, so that no other is better by more.
    return table, float(prices @ np.abs(slack)), found


def _solved(
    problem: Problem, cuts: tuple[_Cut, ...], prices: FloatArray | None = None
) -> FloatArray:
    """Return the table of greatest entropy with the rows weighed by their multipliers, (P, L, m)."""
    classes = problem.classes
    size, (leaves, m) = len(problem.people), classes.shape
    powers = np.zeros((size, leaves, m))
    for cut, multiplier in zip(cuts, () if prices is None else prices, strict=False):
        if multiplier > 0:
            powers[:, cut.here, :] += multiplier * cut.slope[cut.branch][:, None, :]
    table = np.zeros((size, leaves, m))
    for part in problem.parts:
        can, block_of_leaf = _over_all_leaves(part, leaves)
        block_of = part.net.block_of_lump[part.lump]
        of_part = np.isin(np.arange(m), part.classes)
        for block in np.unique(block_of):
            here = np.flatnonzero((block_of == block) & (part.people > 0))
            is_here = (classes > 0) & of_part & (block_of_leaf == block)[:, None]
            leaf, klass = np.nonzero(is_here)
            if not len(here) or not len(leaf):
                continue
            is_able = can[part.lump[here]][:, leaf]
            own = np.where(is_able, powers[here][:, leaf, klass], -np.inf)
            weights = np.exp(own - own.max(axis=1, keepdims=True))
            found = weighed(sparse.csr_array(weights), part.people[here], classes[leaf, klass])
            table[here[:, None], leaf[None, :], klass[None, :]] = found.toarray()
    return table


def _over_all_leaves(part: Some, leaves: int) -> tuple[BoolArray, IndexArray]:
    """Return where the lumps of a part can be among all leaves, (S, L), and the block of each leaf, -1 without one."""
    net = part.net
    can = np.zeros((len(net.supply), leaves), dtype=bool)
    can[:, part.leaves] = net.movable.toarray()[:, net.group_of] > 0
    block_of_leaf = np.full(leaves, -1, dtype=np.intp)
    block_of_leaf[part.leaves] = net.block_of_group[net.group_of]
    return can, block_of_leaf


def _over(problem: Problem, cut: _Cut, table: FloatArray) -> float:
    by_branch = np.zeros_like(cut.slope)
    np.add.at(by_branch, cut.branch, table[:, cut.here, :].sum(axis=1))
    return float((by_branch * cut.slope).sum())


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
            yield _Cut(here, branch, _slope(counts, problem.choice.criterion), left, is_large)


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
