"""Makes a block small without changing it: lumped profiles, pooled classes, fixed cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from audit.blocks import Block, Candidate
from audit.builder import ProgramBuilder
from audit.constraints.split_choice import branch_of_bins
from audit.impurity import by_bin, by_child, candidate_branches, ratios
from audit.leaf_knowledge import LeafKnowledge, complete
from audit.posterior import FloatArray
from audit.program import IntArray, Program
from audit.rows import Linear, SplitFamily
from audit.system import System
from ppdm_models.tree import Criterion

TAU = 1e-7
"""Slack of a split row, as a share of its node's records: some rows hold only with equality and have no interior."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """A block's program, and how its masses map back: ``cell`` (K, m) is the mass variable of each profile and class.

    ``cell`` is -1 where the mass is fixed at ``fixed`` (K, m); ``share`` (K, m) is the profile's part of the variable.
    """

    program: Program
    profiles: IntArray
    cell: IntArray
    share: FloatArray
    fixed: FloatArray

    def masses(self, z: FloatArray) -> FloatArray:
        """Return the masses of the block's profiles, shape (K, m), from the program's variables."""
        if not len(z):
            return self.fixed
        return np.asarray(np.where(self.cell >= 0, z[self.cell] * self.share, self.fixed))


def reduce_block(
    system: System,
    block: Block,
    knowledge: dict[int, LeafKnowledge],
    values: FloatArray,
    *,
    pooled: bool = True,
) -> Reduced:
    """Return the program of a block, started at ``values`` (P, m).

    With ``pooled``, classes that no row of the block tells apart share one variable: the symmetric solution.
    """
    case = system.case
    profiles = np.sort(np.concatenate([case.members.stops(leaf) for leaf in block.leaves]))
    counts = case.population.counts[profiles]
    pools = _pools(system, block, knowledge) if pooled else np.arange(len(case.tree.classes))
    lumps = _lumps(system, block, profiles)
    weight = np.bincount(lumps, weights=counts).astype(np.float64)
    leaf = np.zeros(len(weight), dtype=np.intp)
    leaf[lumps] = case.population.leaf[profiles]
    start = np.zeros((len(weight), pools.max() + 1))
    np.add.at(start, (lumps[:, None], pools[None, :]), counts[:, None] * values[profiles])
    cells = _cells(
        knowledge, _Lumping(profiles, lumps, weight, leaf, pools, np.bincount(pools)), start
    )
    _leaf_rows(cells)
    for index in block.linear:
        _across(system, index, cells)
    for candidate in block.candidates:
        _split_row(system, candidate, cells)
    family = system.rows[block.candidates[0].family] if block.candidates else None
    criterion = family.criterion if isinstance(family, SplitFamily) else Criterion.GINI
    kappa = cells.lumping.kappa[pools][None, :]
    return Reduced(
        program=cells.build.program(criterion),
        profiles=profiles,
        cell=cells.cell[lumps][:, pools],
        share=counts[:, None] / weight[lumps][:, None] / kappa,
        fixed=(cells.fixed[lumps] * (counts / weight[lumps])[:, None])[:, pools] / kappa,
    )


@dataclass(frozen=True, slots=True)
class _Lumping:
    """Profiles of a block (K,), the lump of each, the lumps' records and leaves, the classes' pools and their sizes."""

    profiles: IntArray
    of_profile: IntArray
    weight: FloatArray
    leaf: IntArray
    pools: IntArray
    kappa: IntArray


@dataclass(frozen=True, slots=True)
class _Cells:
    """The masses of each lump and pool (L, G): the variable, or -1 and the fixed mass; and what is known per leaf."""

    lumping: _Lumping
    cell: IntArray
    fixed: FloatArray
    build: ProgramBuilder
    leaves: dict[int, LeafKnowledge]
    leaf_total: dict[tuple[int, int], tuple[int | None, float]]


def _pools(system: System, block: Block, knowledge: dict[int, LeafKnowledge]) -> IntArray:
    """Return each class's pool: classes that no leaf and no row of the block names share the last one."""
    named = np.zeros(len(system.case.tree.classes), dtype=bool)
    for leaf in block.leaves:
        named |= knowledge[leaf].named
    for index in block.linear:
        row = system.rows[index]
        assert isinstance(row, Linear)
        named[row.classes] = True
    pools = np.full(len(named), named.sum(), dtype=np.intp)
    pools[named] = np.arange(named.sum())
    return pools


def _lumps(system: System, block: Block, profiles: IntArray) -> IntArray:
    """Return the lump of each profile: profiles alike in leaf, branch and weight in every row of the block."""
    signature = [system.case.population.leaf[profiles]]
    for candidate in block.candidates:
        family = system.rows[candidate.family]
        assert isinstance(family, SplitFamily)
        side = np.full(len(profiles), -1, dtype=np.intp)
        side[np.searchsorted(profiles, family.profiles)] = _sides(family, candidate)
        signature.append(side)
    for index in block.linear:
        signature.append(
            np.unique(_weights(system, index, profiles), axis=0, return_inverse=True)[1].reshape(-1)
        )
    return np.asarray(
        np.unique(np.stack(signature, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    )


def _sides(family: SplitFamily, candidate: Candidate) -> IntArray:
    """Return the branch of each of the family's profiles under the candidate."""
    code = int(family.admissible[candidate.position])
    return branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins]


def _weights(system: System, index: int, profiles: IntArray) -> FloatArray:
    """Return a row's weight of each profile and class, shape (K, m)."""
    row = system.rows[index]
    assert isinstance(row, Linear)
    weights = np.zeros((len(profiles), len(system.case.tree.classes)))
    np.add.at(weights, (np.searchsorted(profiles, row.profiles), row.classes), row.weights)
    return weights


def _cells(knowledge: dict[int, LeafKnowledge], lumping: _Lumping, start: FloatArray) -> _Cells:
    """Make a variable of every mass that is not fixed by its leaf, and the rows that give each lump its records."""
    build = ProgramBuilder()
    cell = np.full(start.shape, -1, dtype=np.intp)
    fixed = np.zeros(start.shape)
    lumps_in_leaf = np.bincount(lumping.leaf)
    pooled = {int(leaf): _pooled(knowledge[int(leaf)], lumping) for leaf in np.unique(lumping.leaf)}
    for lump, weight in enumerate(lumping.weight):
        known = pooled[int(lumping.leaf[lump])]
        is_exact = known.low == known.high
        if lumps_in_leaf[known.node] == 1 and is_exact.all():
            fixed[lump] = known.low
            continue
        possible = known.high > 1e-9 * known.records
        if possible.sum() == 1:
            fixed[lump, possible] = weight
            continue
        for pool in np.flatnonzero(possible):
            cell[lump, pool] = build.variable(float(start[lump, pool]))
            build.scale.append(float(weight * lumping.kappa[pool]))
        build.row(
            cell[lump, possible].tolist(), [1.0] * int(possible.sum()), float(weight), float(weight)
        )
    return _Cells(lumping, cell, fixed, build, pooled, {})


def _pooled(leaf: LeafKnowledge, lumping: _Lumping) -> LeafKnowledge:
    """Return what is known of a leaf per pool; a known label caps the other pools."""
    pools, kappa = lumping.pools, lumping.kappa
    low = np.bincount(pools, weights=leaf.low).astype(np.float64)
    high = np.minimum(np.bincount(pools, weights=leaf.high), leaf.records)
    label = None if leaf.label is None else int(pools[leaf.label])
    if label is not None and low[label] == high[label]:
        cap = kappa * np.maximum(low[label] - leaf.margin, 0.0)
        cap[label] = np.inf
        high = np.maximum(np.minimum(high, cap), low)
    complete(low, high, leaf.records)
    return LeafKnowledge(
        leaf.node, leaf.records, low, high, label, leaf.margin, np.ones(len(low), dtype=bool)
    )


def _leaf_rows(cells: _Cells) -> None:
    """Add each leaf's rows: known masses, ends, and the label's lead; note each leaf's total per pool."""
    build, kappa = cells.build, cells.lumping.kappa
    for node, known in cells.leaves.items():
        lumps = np.flatnonzero(cells.lumping.leaf == node)
        exact = known.low == known.high
        redundant = int(np.flatnonzero(exact & (known.high > 0))[-1]) if exact.all() else -1
        for pool in range(len(kappa)):
            free = cells.cell[lumps, pool]
            variables = [int(i) for i in free if i >= 0]
            constant = float(cells.fixed[lumps, pool].sum())
            if not variables:
                cells.leaf_total[node, pool] = (None, constant)
            elif exact[pool]:
                cells.leaf_total[node, pool] = (None, float(known.low[pool]))
                if pool != redundant:
                    rest = float(known.low[pool]) - constant
                    build.row(variables, [1.0] * len(variables), rest, rest)
            else:
                total = build.total(variables, constant)
                assert total is not None
                build.upper[total] = min(build.upper[total], float(known.high[pool]))
                build.lower[total] = max(build.lower[total], float(known.low[pool]))
                cells.leaf_total[node, pool] = (total, 0.0)
        _lead(cells, node, known)


def _lead(cells: _Cells, node: int, known: LeafKnowledge) -> None:
    """Add the rows by which a label whose mass is not known leads the other pools."""
    if known.label is None or known.low[known.label] == known.high[known.label]:
        return
    label, label_constant = cells.leaf_total[node, known.label]
    if label is None:
        return
    for pool, kappa in enumerate(cells.lumping.kappa):
        total, constant = cells.leaf_total[node, pool]
        if pool == known.label or (total is None and constant == 0):
            continue
        others = [] if total is None else [total]
        least = known.margin + constant / kappa - label_constant
        cells.build.row(
            [label, *others], [1.0, *[-1.0 / float(kappa) for _ in others]], least, np.inf
        )


def _across(system: System, index: int, cells: _Cells) -> None:
    """Add a row across leaves in terms of the lumps' masses."""
    row, lumping = system.rows[index], cells.lumping
    assert isinstance(row, Linear)
    by_lump = np.zeros((len(lumping.weight), len(lumping.pools)))
    by_lump[lumping.of_profile] = _weights(system, index, lumping.profiles)
    variables: list[int] = []
    weights: list[float] = []
    constant = 0.0
    for lump, klass in np.argwhere(by_lump):
        number = int(cells.cell[lump, lumping.pools[klass]])
        if number >= 0:
            variables.append(number)
            weights.append(float(by_lump[lump, klass]))
        else:
            constant += by_lump[lump, klass] * cells.fixed[lump, lumping.pools[klass]]
    if variables:
        cells.build.row(variables, weights, row.low - constant, row.high - constant)


def _split_row(system: System, candidate: Candidate, cells: _Cells) -> None:
    """Add one split row: the chosen split's impurity, less the candidate's, at most tau of the node's records."""
    family, lumping = system.rows[candidate.family], cells.lumping
    assert isinstance(family, SplitFamily)
    inside = lumping.of_profile[np.searchsorted(lumping.profiles, family.profiles)]
    side = np.full(len(lumping.weight), -1, dtype=np.intp)
    child = side.copy()
    side[inside], child[inside] = _sides(family, candidate), family.chosen
    ratio = _ratio(system, family, candidate)
    parts: list[tuple[float, IntArray, bool]] = []
    parts += [(ratio, np.flatnonzero(child == b), True) for b in np.unique(family.chosen)]
    parts += [(-1.0, np.flatnonzero(side == b), False) for b in np.unique(side[inside])]
    if ratio != 1.0:
        parts.append((1.0 - ratio, np.flatnonzero(child >= 0), True))
    constant, number = 0.0, len(cells.build.splits)
    for coefficient, lumps, by_leaf in parts:
        records = float(lumping.weight[lumps].sum())
        for pool, kappa in enumerate(lumping.kappa):
            variable, mass = _branch_total(cells, lumps, pool, by_leaf)
            scale = records * float(kappa)
            if variable is None:
                constant += coefficient * _phi(family.criterion, mass, scale)
            else:
                cells.build.terms.append((number, variable, coefficient, scale))
    records = float(system.case.population.counts[family.profiles].sum())
    cells.build.splits.append((constant, TAU * records, records))


def _branch_total(
    cells: _Cells, lumps: IntArray, pool: int, by_leaf: bool
) -> tuple[int | None, float]:
    """Return the variable that holds a pool's mass in some lumps, or None and the mass where it is fixed."""
    if by_leaf:
        totals = [
            cells.leaf_total[int(node), pool] for node in np.unique(cells.lumping.leaf[lumps])
        ]
        variables = [number for number, _ in totals if number is not None]
        constant = float(sum(mass for _, mass in totals))
    else:
        variables = [int(i) for i in cells.cell[lumps, pool] if i >= 0]
        constant = float(cells.fixed[lumps, pool].sum())
    return cells.build.total(variables, constant), constant


def _phi(criterion: Criterion, mass: float, scale: float) -> float:
    if mass <= 0:
        return 0.0
    return (
        -(mass**2) / scale if criterion is Criterion.GINI else -mass * float(np.log(mass / scale))
    )


def _ratio(system: System, family: SplitFamily, candidate: Candidate) -> float:
    """Return a = SI(candidate) / SI(chosen) for the gain ratio, 1 otherwise; it depends on the records alone."""
    if family.criterion is not Criterion.GAIN_RATIO:
        return 1.0
    records = system.case.population.counts[:, None]
    one = replace(family, admissible=family.admissible[[candidate.position]])
    branches = candidate_branches(one, by_bin(one, records))
    return float(ratios(one, by_child(one, records), branches)[0])
