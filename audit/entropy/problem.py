"""The estimation problem of one system: its leaves, closed form and deadline, and its parts that can be solved alone.

Consistent tables add proved masses, and split rows as intervals of one count: with two classes and every leaf's class
counts known, a split row is a convex statement about one whole number (how many records of the first class go left),
and what the intervals and the leaves force is fixed first. Blocks that share no row are solved one by one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.bounds import ContradictionError
from treewarden.audit.facts.impurity_rows import by_bin, candidate_branches
from treewarden.audit.facts.rows import Case, SplitFamily, branch_of_bins
from treewarden.audit.options import AuditOptions, RowStatement, Solver
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import members
from treewarden.audit.progress import Share
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system, closed_form, leaf_knowledge
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike, grouped


class EntropyProblem:
    """What stays the same while one system is solved: its closed form, the door, the processes, the deadline.

    Raises:
        SolverError: the wanted solver is not there.
    """

    def __init__(self, system: System, options: AuditOptions, share: Share | None = None) -> None:
        self.system, self.share = system, share
        self.door = _door(options.solver)
        self.jobs = options.jobs
        self.deadline = (
            np.inf if options.time_limit is None else time.monotonic() + options.time_limit
        )
        case = system.case
        self.knowledge = leaf_knowledge(system)
        self.whole = whole_records(system) if options.rows == RowStatement.INTEGER else None
        shares = np.zeros((len(case.tree.nodes), len(case.tree.classes)))
        for node, leaf in self.knowledge.items():
            shares[node] = closed_form(leaf)
        self.plain = shares.take(case.population.leaf, axis=0)
        self.closed = self.plain if self.whole is None else self._around(self.whole.shares)

    @property
    def backend(self) -> str:
        """The backend that IPOPT is asked by."""
        return Solver.CASADI.value if self.door == Solver.AUTO else self.door

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        return time.monotonic() >= self.deadline

    def _around(self, proved: FloatArray) -> FloatArray:
        """Return the closed form (P, m) where some profiles' shares are proved: a leaf's others share what is left."""
        values, counts = proved.copy(), self.system.case.population.counts
        for node, leaf in self.knowledge.items():
            inside = self.system.case.members.stops(node)
            rest = inside[np.isnan(proved[inside]).any(axis=1)]
            taken = np.setdiff1d(inside, rest)
            if len(rest):
                left = leaf.known_masses - (proved[taken] * counts[taken, None]).sum(axis=0)
                values[rest] = np.maximum(left, 0.0) / counts[rest].sum()
        return values


def _door(name: str) -> str:
    """Return the name of a backend; CasADi's comes with this package, another has to be there.

    Raises:
        SolverError: there is no such backend, or what it needs is not installed.
    """
    if name in (Solver.AUTO, Solver.CASADI):
        return name
    from treewarden.audit.ipopt.backends import check_door  # heavy: the backends

    return check_door(name)


MOST_INCIDENCES = 30_000_000
"""Candidates times the profiles they touch, above which the real rows are kept: propagation would take minutes. A limit
on work and not on time, so that the same input gives the same estimate."""


@dataclass(frozen=True, slots=True)
class ProvedShares:
    """``shares`` (P, m) are proved values of P(class | profile), NaN where nothing is proved.

    ``intervals`` give, for the number of a family, the ends per admissible candidate of the number of records of the
    first class on its first branch.
    """

    shares: FloatArray
    intervals: Mapping[int, tuple[FloatArray, FloatArray]]

    @property
    def profiles_fixed(self) -> int:
        """The number of profiles of which everything is proved."""
        return int((~np.isnan(self.shares)).all(axis=1).sum())


def whole_records(system: System) -> ProvedShares | None:
    """Return what whole records prove, or None where the rows are not of this kind."""
    if not _applies(system):
        return None
    merged, group = _by_features(system)
    if len(merged.rows) != len(system.rows):
        return None
    from treewarden.audit.consistent_tables.proofs.propagate import FixedCells, fixed_cells  # heavy

    try:
        found = fixed_cells(merged, seconds=np.inf)
    except ContradictionError:
        return None
    if not isinstance(found, FixedCells):
        return None
    counts = merged.case.population.counts
    shares = np.full(found.low.shape, np.nan)
    whole = np.asarray(found.is_fixed).all(axis=1)
    shares[whole] = found.low[whole] / counts[whole, None]
    ends = {
        number: (np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
        for number, (low, high) in found.intervals.items()
    }
    return ProvedShares(shares[group], ends)


def _by_features(system: System) -> tuple[System, IndexArray]:
    """Return the system over profiles of the tree's own features, and the place of each profile (P,) in it.

    A feature that no test asks about may be no quasi-identifier. Other columns tell people apart, but no row: what is
    proved of a group must not depend on how finely it is cut.
    """
    case, people = system.case, system.case.population
    names = [feature.name for feature in case.tree.features if feature.name in people.qi]
    if set(people.qi) <= set(names):
        return system, np.arange(len(people.counts), dtype=np.intp)
    codes = []
    for name in names:
        values = people.columns[name].keys
        codes.append(np.unique(np.asarray(values), return_inverse=True)[1].reshape(-1))
    if people.weight is not None:
        codes.append(np.unique(people.weight, return_inverse=True)[1].reshape(-1))
    first, group = alike(codes)
    counts = np.bincount(group, weights=people.counts).astype(np.float64)
    truth = people.truth
    if not isinstance(truth, Undetermined):
        truth = grouped(group, truth, len(first))
    columns = {name: people.columns[name].take(first) for name in names}
    weight = None if people.weight is None else people.weight[first]
    fewer = Population(
        tuple(names),
        columns,
        counts,
        people.leaf[first],
        truth,
        weight=weight,
        rows=people.rows,
    )
    return build_system(
        Case(case.tree, fewer, members(case.tree, fewer.leaf), case.knowledge)
    ), group


def _applies(system: System) -> bool:
    case = system.case
    if len(case.tree.classes) != 2 or system.across or not system.families:
        return False
    known = {node for node, ends in system.ends.items() if any(end.low == end.high for end in ends)}
    if not set(np.unique(case.population.leaf).tolist()) <= known:
        return False
    if (case.population.counts != np.round(case.population.counts)).any():
        return False
    touched = sum(len(family.admissible) * len(family.profiles) for family in system.families)
    return touched <= MOST_INCIDENCES


def interval_excess(
    family: SplitFamily, ends: tuple[FloatArray, FloatArray], mass: FloatArray
) -> FloatArray:
    """Return by how much each candidate's count is outside its interval, per record of the node, shape (A,)."""
    bins = by_bin(family, mass)
    count = candidate_branches(family, bins)[:, 0, 0]
    return np.asarray(np.maximum(ends[0] - count, count - ends[1]) / bins.sum())


@dataclass(frozen=True, slots=True)
class ViolatedCandidate:
    """One candidate split that the estimate violated: its family's number, its code's position among the admissible."""

    family: int
    position: int


def sides(family: SplitFamily, candidate: ViolatedCandidate) -> IndexArray:
    """Return the branch of each of the family's profiles under the candidate."""
    code = int(family.admissible[candidate.position])
    return branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins]


@dataclass(frozen=True, slots=True)
class Block:
    """Leaves whose estimates hang together: through active split rows, or through rows across leaves, by number."""

    leaves: tuple[int, ...]
    candidates: tuple[ViolatedCandidate, ...]
    linear: tuple[int, ...]


def blocks(
    system: System, leaves: Sequence[int], active: Sequence[ViolatedCandidate]
) -> tuple[Block, ...]:
    """Return the blocks that need a solver: leaves joined by active split rows and by rows across leaves.

    Leaves in no such row are solved in closed form and are not in any block. Blocks stand in the order of their leaves.
    """
    leaf_of = system.case.population.leaf
    parent = {leaf: leaf for leaf in leaves}
    touched: list[tuple[list[int], ViolatedCandidate | int]] = []
    for candidate in active:
        family = system.families[candidate.family]
        touched.append((_stops(leaf_of, family.profiles), candidate))
    for number, line in enumerate(system.across):
        touched.append((_stops(leaf_of, line.profiles), number))
    for joined, _ in touched:
        for leaf in joined[1:]:
            parent[_root(parent, leaf)] = _root(parent, joined[0])
    groups: dict[int, list[int]] = {}
    needed = {_root(parent, joined[0]) for joined, _ in touched if joined}
    for leaf in leaves:
        if _root(parent, leaf) in needed:
            groups.setdefault(_root(parent, leaf), []).append(leaf)
    found = []
    for root, joined_leaves in groups.items():
        rows = [what for joined, what in touched if joined and _root(parent, joined[0]) == root]
        candidates = tuple(
            sorted(
                (r for r in rows if isinstance(r, ViolatedCandidate)),
                key=lambda c: (c.family, c.position),
            )
        )
        found.append(
            Block(tuple(joined_leaves), candidates, tuple(r for r in rows if isinstance(r, int)))
        )
    return tuple(sorted(found, key=lambda block: block.leaves))


def _stops(leaf: IndexArray, profiles: IndexArray) -> list[int]:
    return np.flatnonzero(np.bincount(leaf[profiles])).tolist()


def _root(parent: dict[int, int], leaf: int) -> int:
    while parent[leaf] != leaf:
        parent[leaf] = parent[parent[leaf]]
        leaf = parent[leaf]
    return leaf
