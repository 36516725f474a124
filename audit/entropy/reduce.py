"""Makes a block small without changing it: lumped profiles, pooled classes, fixed cells.

The record of a block with its answer is here too: the search keeps it, and the certificate reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from treewarden.audit.entropy.masses import Lumping, MassCells, add_leaf_rows, make_cells
from treewarden.audit.entropy.posterior import entropies
from treewarden.audit.entropy.problem import Block, ProvedShares, ViolatedCandidate, sides
from treewarden.audit.facts.impurity_rows import ratio_at
from treewarden.audit.facts.rows import Linear
from treewarden.audit.ipopt.program import TAU, BlockProgram
from treewarden.audit.population.population import Population
from treewarden.audit.solver.canonical import chains
from treewarden.audit.solver.task import SEARCHED_PROGRAM, WORTH_A_RESTART, SolverAnswer
from treewarden.audit.system.system import LeafKnowledge, System
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike, ranks
from treewarden.ppdm_models.tree.tree import Criterion


@dataclass(frozen=True, slots=True)
class Reduced:
    """A block's program, and how its masses map back: ``cell`` (K, m) is the mass variable of each profile and class.

    ``chains`` (terms, masses) is what `treewarden.audit.solver.canonical` says of the program; ``members``
    (variables, masses) which masses each variable sums; ``kappa`` (masses,) and ``kappa_of_class`` (m,) how many
    classes share a pool.

    ``alike`` are the classes that no row of the block tells apart, ``lumps`` how many kinds of profiles its rows do.
    ``cell`` is -1 where the mass is fixed at ``fixed`` (K, m); ``share`` (K, m) is the profile's part of the variable.
    """

    program: BlockProgram
    chains: sparse.csr_matrix
    members: sparse.csr_matrix
    kappa: FloatArray
    kappa_of_class: IndexArray
    alike: IndexArray
    profiles: IndexArray
    cell: IndexArray
    share: FloatArray
    fixed: FloatArray
    lumps: int

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
    whole: ProvedShares | None = None,
    *,
    pooled: bool = True,
) -> Reduced:
    """Return the program of a block, started at ``values`` (P, m).

    With ``pooled``, classes that no row of the block tells apart share one variable: the symmetric solution.
    """
    case = system.case
    profiles = np.sort(np.concatenate([case.members.stops(leaf) for leaf in block.leaves]))
    counts = case.population.counts[profiles]
    pools = _pools(system, block, knowledge)
    alike = np.flatnonzero(np.bincount(pools)[pools] >= 2)
    pools = pools if pooled else np.arange(len(pools))
    proved = (
        np.full((len(profiles), len(pools)), np.nan) if whole is None else whole.shares[profiles]
    )
    lines = _lines(system, block, profiles, knowledge)
    lumps = _lumps(system, block, profiles, proved, lines)
    lumping = _lumping(case.population, profiles, lumps, pools, proved)
    weight = lumping.weight
    start = np.zeros(lumping.proved.shape)
    np.add.at(start, (lumps[:, None], pools[None, :]), counts[:, None] * values[profiles])
    cells = make_cells(knowledge, lumping, start)
    add_leaf_rows(cells)
    for line in lines:
        _across(line, cells)
    for candidate in block.candidates:
        if whole is not None and candidate.family in whole.intervals:
            _interval_row(system, candidate, cells, whole)
        else:
            _split_row(system, candidate, cells)
    criterion = Criterion.GINI
    if block.candidates:
        criterion = system.families[block.candidates[0].family].criterion
    program, members = cells.build.program(criterion), cells.build.members()
    kappa = cells.lumping.kappa[pools][None, :]
    return Reduced(
        program=program,
        chains=chains(program, members),
        members=members,
        kappa=_kappa(cells),
        kappa_of_class=cells.lumping.kappa[pools],
        alike=alike,
        profiles=profiles,
        cell=cells.cell[lumps][:, pools],
        share=counts[:, None] / weight[lumps][:, None] / kappa,
        fixed=(cells.fixed[lumps] * (counts / weight[lumps])[:, None])[:, pools] / kappa,
        lumps=len(weight),
    )


def _lumping(
    population: Population,
    profiles: IndexArray,
    lumps: IndexArray,
    pools: IndexArray,
    proved: FloatArray,
) -> Lumping:
    """Return the lumps of a block and its pools of classes, with the masses that are ``proved`` by profile."""
    counts = population.counts[profiles]
    weight = np.bincount(lumps, weights=counts).astype(np.float64)
    leaf = np.zeros(len(weight), dtype=np.intp)
    leaf[lumps] = population.leaf[profiles]
    masses = np.full((len(weight), pools.max() + 1), np.nan)
    known = np.flatnonzero(~np.isnan(proved).any(axis=1))
    masses[lumps[known]] = 0.0
    np.add.at(masses, (lumps[known, None], pools[None, :]), counts[known, None] * proved[known])
    return Lumping(
        profiles=profiles,
        of_profile=lumps,
        weight=weight,
        leaf=leaf,
        pools=pools,
        kappa=np.bincount(pools),
        proved=masses,
    )


def _kappa(cells: MassCells) -> FloatArray:
    kappa = np.ones(len(cells.build.scale))
    for pool, size in enumerate(cells.lumping.kappa):
        numbers = cells.cell[:, pool]
        kappa[numbers[numbers >= 0]] = size
    return kappa


def _pools(system: System, block: Block, knowledge: dict[int, LeafKnowledge]) -> IndexArray:
    """Return each class's pool: classes that no leaf and no row of the block names share the last one."""
    named = np.zeros(len(system.case.tree.classes), dtype=bool)
    for leaf in block.leaves:
        named |= knowledge[leaf].named
    for index in block.linear:
        named[system.across[index].classes] = True
    pools = np.full(len(named), named.sum(), dtype=np.intp)
    pools[named] = np.arange(named.sum())
    return pools


@dataclass(frozen=True, slots=True)
class _Line:
    """A row across leaves as ``weights`` (K,) of a block's profiles by class; its ends are those of ``row``."""

    row: Linear
    weights: dict[int, FloatArray]


def _lines(
    system: System, block: Block, profiles: IndexArray, knowledge: dict[int, LeafKnowledge]
) -> list[_Line]:
    """Return the rows across leaves but those that follow: from another that says it, or from what leaves say.

    A table of characteristics says of every column anew that somebody has a class.
    """
    place = np.full(len(system.case.population.counts), -1, dtype=np.intp)
    place[profiles] = np.arange(len(profiles))
    leaf = system.case.population.leaf[profiles]
    order = np.argsort(leaf, kind="stable")
    starts = np.flatnonzero(np.diff(leaf[order], prepend=-1))
    known = [knowledge[int(node)] for node in leaf[order][starts]]
    found, seen = list[_Line](), set[tuple[object, ...]]()
    for index in block.linear:
        row = system.across[index]
        line = _Line(row, _weights(row, place, len(profiles)))
        key = (row.low, row.high, *((k, w.tobytes()) for k, w in line.weights.items()))
        if key not in seen and not _is_told(line, order, starts, known):
            found.append(line)
        seen.add(key)
    return found


def _is_told(
    line: _Line, order: IndexArray, starts: IndexArray, leaves: list[LeafKnowledge]
) -> bool:
    """Whether leaves alone say what a row does: it weighs all people of a leaf alike, and their ends are within its.

    Profiles of a leaf stand side by side in ``order`` (K,), those of the ``leaves`` from ``starts`` on.
    """
    least = most = 0.0
    for klass, weights in line.weights.items():
        by_leaf = weights[order]
        first = by_leaf[starts]
        if (np.repeat(first, np.diff(starts, append=len(order))) != by_leaf).any():
            return False
        ends = np.array([(leaf.low[klass], leaf.high[klass]) for leaf in leaves]) * first[:, None]
        least, most = least + float(ends.min(axis=1).sum()), most + float(ends.max(axis=1).sum())
    return line.row.low <= least and most <= line.row.high


LINES_AT_ONCE = 8
"""After so many further rows it is seen whether all profiles are told apart, so that the rest tells nothing more."""


def _lumps(
    system: System,
    block: Block,
    profiles: IndexArray,
    proved: FloatArray,
    lines: list[_Line],
) -> IndexArray:
    """Return the lump of each profile: profiles alike in leaf, branch and weight in every row of the block."""
    signature = [system.case.population.leaf[profiles]]
    if not np.isnan(proved).all():
        # NaN differs from itself, so that every profile would be a lump of its own.
        marked = np.nan_to_num(proved, nan=-1.0)
        signature.append(np.unique(marked, axis=0, return_inverse=True)[1].reshape(-1))
    for candidate in block.candidates:
        family = system.families[candidate.family]
        side = np.full(len(profiles), -1, dtype=np.intp)
        side[np.searchsorted(profiles, family.profiles)] = sides(family, candidate)
        signature.append(side)
    first, lumps = alike(signature)
    weights = [line.weights[klass] for line in lines for klass in sorted(line.weights)]
    for start in range(0, len(weights), LINES_AT_ONCE):
        if len(first) == len(profiles):
            break
        more = [ranks(each)[0] for each in weights[start : start + LINES_AT_ONCE]]
        first, lumps = alike([lumps, *more])
    return lumps


def _weights(row: Linear, place: IndexArray, profiles: int) -> dict[int, FloatArray]:
    """Return a row's weights (K,) of the profiles of a block by class; ``place`` (P,) is where each stands in it."""
    found = {}
    for klass in np.flatnonzero(np.bincount(row.classes)).tolist():
        inside = row.classes == klass
        at = place[row.profiles[inside]]
        summed = np.bincount(at, weights=row.weights[inside], minlength=profiles)
        found[klass] = summed.astype(np.float64)
    return found


def _across(line: _Line, cells: MassCells) -> None:
    """Add a row across leaves in terms of the lumps' masses."""
    row, lumping = line.row, cells.lumping
    by_lump = np.zeros((len(lumping.weight), len(lumping.pools)))
    for klass, weights in line.weights.items():
        by_lump[lumping.of_profile, klass] = weights
    lumps, classes = np.nonzero(by_lump)
    said, numbers = by_lump[lumps, classes], cells.cell[lumps, lumping.pools[classes]]
    is_free = numbers >= 0
    mass = cells.fixed[lumps, lumping.pools[classes]]
    constant = sum((said * mass)[~is_free].tolist())
    weights = said[is_free]
    if len(weights):
        unit = 1.0 if row.slack is None else float(np.abs(weights).max())
        low, high = (row.low - constant) / unit, (row.high - constant) / unit
        cells.build.row(numbers[is_free], weights / unit, low, high)


def _split_row(system: System, candidate: ViolatedCandidate, cells: MassCells) -> None:
    """Add one split row: the chosen split's impurity, less the candidate's, at most tau of the node's records."""
    family, lumping = system.families[candidate.family], cells.lumping
    inside = lumping.of_profile[np.searchsorted(lumping.profiles, family.profiles)]
    side = np.full(len(lumping.weight), -1, dtype=np.intp)
    child = side.copy()
    side[inside], child[inside] = sides(family, candidate), family.chosen
    ratio = ratio_at(family, candidate.position, system.case.population.counts)
    parts: list[tuple[float, IndexArray, bool]] = []
    parts += [(ratio, np.flatnonzero(child == b), True) for b in np.unique(family.chosen)]
    parts += [(-1.0, np.flatnonzero(side == b), False) for b in np.unique(side[inside])]
    if ratio != 1.0:
        parts.append((1.0 - ratio, np.flatnonzero(child >= 0), True))
    constant, number, before = 0.0, len(cells.build.splits), len(cells.build.terms)
    sizes = lumping.kappa.tolist()
    for coefficient, lumps, by_leaf in parts:
        records = float(lumping.weight[lumps].sum())
        totals = _leaf_totals(cells, lumps) if by_leaf else _lump_totals(cells, lumps)
        for kappa, (variable, mass, most) in zip(sizes, totals, strict=True):
            scale = records * float(kappa)
            if variable is None:
                constant += coefficient * _phi(family.criterion, mass, scale)
            else:
                known = mass if by_leaf else 0.0
                cells.build.terms.append((number, variable, coefficient, scale, known, most))
    records = float(system.case.population.counts[family.profiles].sum())
    if len(cells.build.terms) > before:
        cells.build.splits.append((constant, TAU * records, records))
    elif constant > TAU * records:
        cells.build.is_impossible = True


def _interval_row(
    system: System, candidate: ViolatedCandidate, cells: MassCells, whole: ProvedShares
) -> None:
    """Add one split row as whole records say it: the first class's count on the first branch lies in an interval."""
    family, lumping = system.families[candidate.family], cells.lumping
    low, high = (float(ends[candidate.position]) for ends in whole.intervals[candidate.family])
    first = family.profiles[sides(family, candidate) == 0]
    lumps = np.unique(lumping.of_profile[np.searchsorted(lumping.profiles, first)])
    pool = int(lumping.pools[0])
    variables = [number for number in cells.cell[lumps, pool].tolist() if number >= 0]
    constant = float(cells.fixed[lumps, pool].sum())
    if variables:
        cells.build.row(variables, [1.0] * len(variables), low - constant, high - constant)
    elif not low - 1e-6 <= constant <= high + 1e-6:
        cells.build.is_impossible = True


_Total = tuple[int | None, float, float]
"""The variable that holds a pool's mass in some lumps, or None; what is fixed of it; and the most that it can be."""


def _leaf_totals(cells: MassCells, lumps: IndexArray) -> Iterator[_Total]:
    """Yield the total of each pool in lumps that are all those of some leaves.

    The most is what it would be if one class of the pool had as much as it can, and so had the others.
    """
    nodes = np.unique(cells.lumping.leaf[lumps]).tolist()
    for pool in range(len(cells.lumping.kappa)):
        totals = [cells.leaf_total[node, pool] for node in nodes]
        variables = [number for number, _ in totals if number is not None]
        constant = float(sum(mass for _, mass in totals))
        free = [
            cells.most[node][pool]
            for node, (number, _) in zip(nodes, totals, strict=True)
            if number is not None
        ]
        yield cells.build.total(variables, constant), constant, constant + float(sum(free))


def _lump_totals(cells: MassCells, lumps: IndexArray) -> Iterator[_Total]:
    """Yield the total of each pool in some lumps; of the most nothing is told."""
    for numbers, fixed in cells.by_pool(lumps):
        variables = [number for number in numbers if number >= 0]
        yield cells.build.total(variables, fixed), fixed, 0.0


def _phi(criterion: Criterion, mass: float, scale: float) -> float:
    if mass <= 0:
        return 0.0
    return (
        -(mass**2) / scale if criterion is Criterion.GINI else -mass * float(np.log(mass / scale))
    )


@dataclass(frozen=True, slots=True)
class SolvedBlock:
    """A block as it was reduced, and the answer.

    ``is_symmetric`` where the pooled form was solved; ``is_saddle`` where the second-order test says that letting
    pooled classes differ would help, but no better point was found. ``bound`` is the most entropy that the block can
    have, in nats times records; infinite where nothing is proved. ``is_searched`` once it was tried from many starts.
    ``rivals`` are estimates (K, m) of it that the search ended at elsewhere, as good or not.
    """

    reduced: Reduced
    answer: SolverAnswer
    is_symmetric: bool
    is_saddle: bool = False
    bound: float = np.inf
    is_searched: bool = False
    rivals: tuple[FloatArray, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether many starts may find a better optimum and cost little: a small pooled program below its bound."""
        program, answer = self.reduced.program, self.answer
        gap = answer.objective - answer.floor
        return (
            answer.is_accepted
            and self.is_symmetric
            and not self.is_searched
            and not program.is_convex
            and program.size <= SEARCHED_PROGRAM
            and gap > self.same
        )

    @property
    def same(self) -> float:
        """How far apart the objectives of one optimum may be, in nats times records."""
        return WORTH_A_RESTART * float(self.reduced.program.scale.sum())

    def is_beaten_by(self, answer: SolverAnswer) -> bool:
        """Return whether another answer to the same program is a better optimum."""
        return answer.is_accepted and answer.objective < self.answer.objective - self.same

    def values(self) -> FloatArray:
        """Return the estimate of the block's profiles, shape (K, m)."""
        return shares(self.reduced, self.answer.z)

    def met(self) -> tuple[FloatArray, ...]:
        """Return the other estimates (K, m) of the block that its starts and its other forms ended at."""
        return (*self.rivals, *(shares(self.reduced, z) for z in self.answer.rivals))

    def beside(self, form: Reduced, answer: SolverAnswer) -> SolvedBlock:
        """Return this with what another solve of the block ended at among its rivals."""
        if not answer.is_accepted:
            return self
        met = (shares(form, z) for z in (answer.z, *answer.rivals))
        return replace(self, rivals=(*self.rivals, *met))

    def followed_by(self, better: SolvedBlock) -> SolvedBlock:
        """Return a better answer to the block, with this one and its rivals among that one's rivals."""
        return replace(better, rivals=(*better.rivals, self.values(), *self.met()))

    def entropy(self, counts: FloatArray) -> float:
        """Return the entropy of the block in nats times records; ``counts`` (P,) are everybody's."""
        return float(entropies(self.values(), counts[self.reduced.profiles]).sum())


def proved_bound(reduced: Reduced, answer: SolverAnswer, counts: FloatArray) -> float:
    """Return the bound on a block's entropy that an answer proves; ``counts`` (P,) are everybody's."""
    start, inside = reduced.program.start, counts[reduced.profiles]
    if not len(start):
        return np.inf
    fixed = float(entropies(shares(reduced, start), inside).sum()) + reduced.program.objective(
        start
    )
    return fixed - answer.floor


def shares(reduced: Reduced, z: FloatArray) -> FloatArray:
    """Return the estimate of a block's profiles from its variables, shape (K, m)."""
    masses = reduced.masses(z)
    return np.asarray(masses / masses.sum(axis=1, keepdims=True))
