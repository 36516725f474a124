"""What whole records add to the estimate: masses that are proved, and split rows as intervals of one count.

With two classes and every leaf's class counts known, a split row is a convex statement about one whole number: how many
records of the first class go left. So it is an interval, and what the intervals and the leaves force is fixed first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.audit.consistent_tables.proofs.bounds import ContradictionError
from treewarden.audit.facts.case import Case
from treewarden.audit.facts.impurity_rows import by_bin, candidate_branches
from treewarden.audit.facts.rows import SplitFamily
from treewarden.audit.population.members import members
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, alike

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
        sums = np.zeros((len(first), truth.shape[1]))
        np.add.at(sums, group, truth)
        truth = sums
    columns = {name: people.columns[name].take(first) for name in names}
    weight = None if people.weight is None else people.weight[first]
    fewer = Population(
        tuple(names),
        columns,
        counts,
        people.leaf[first],
        truth,
        weight=weight,
        weights=people.weights,
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
