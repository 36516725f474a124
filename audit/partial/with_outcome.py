"""What somebody makes of a tree who knows the class of some people, as columns that he knows say it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from treewarden.audit.estimate.posterior import Posterior
from treewarden.audit.partial.allowance import Allowance
from treewarden.audit.partial.bounded import bounded, ranges
from treewarden.audit.partial.classed import classed
from treewarden.audit.partial.cuts import Problem, Some
from treewarden.audit.partial.doubts import NOT_COMPARED, why_broken
from treewarden.audit.partial.enforced import enforced
from treewarden.audit.partial.flows import Rooms, ends
from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.learned import Proofs, proofs, shares
from treewarden.audit.partial.network import network
from treewarden.audit.partial.reach import Reach
from treewarden.audit.partial.scaling import GAP, spread
from treewarden.audit.partial.splits import Choice, held
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.audit.worlds.result import Worlds
from treewarden.ppdm_models.arrays import IndexArray


def with_outcome(
    found: Reach,
    said: IndexArray,
    population: Population,
    people: Population,
    of: IndexArray,
    leaves: LeafTable,
    choice: Choice | None,
    doubts: tuple[str, ...],
    work: int,
    allowance: Allowance,
) -> tuple[Posterior | Undetermined, Worlds, float]:
    """Return what is believed of classes, what is proved, and how far the spread is from the optimum at most.

    ``said`` is the class that is known of each of the merged ``people``, (P,), ``of`` the place among these of each
    profile of the ``population``. The number of each class in each leaf is known. ``doubts`` are why more may be known;
    ``choice`` is what is used of how splits were chosen, and ``allowance`` what putting it in may cost.

    Raises:
        SolverError: the wanted solver is not there.
    """
    parts = classed(leaves, population)
    lump_of, arcs = parts.parted(found.lump_of, found.over(leaves.nodes), said)
    place = lump_of[of[parts.of]], parts.population.leaf
    world = sparse.coo_array((parts.population.counts, place), shape=arcs.shape).tocsr()
    net = network(arcs, world)
    placed = spread(net)
    sizes = parts.leaves.sizes
    values = shares(net, placed, parts.shares, sizes)[lump_of]
    believed: Posterior | Undetermined = Posterior(
        values, (placed.gap <= GAP)[lump_of], values, values
    )
    whole = parts.shares * sizes[:, None]
    problem = f"no estimate: {'; '.join(doubts)}" if doubts else ""
    if choice is not None:
        each = parts.by_class(held(people.counts, lump_of, net, placed, sizes), len(leaves.nodes))
        problem = why_broken(choice, [each])
        if problem and problem != NOT_COMPARED:
            asked = Problem(choice, (Some(each, net, placed.gap),), parts.class_counts)
            more_told = enforced(asked, values, allowance)
            believed, problem = (more_told, "") if more_told is not None else (believed, problem)
    if problem:
        believed = Undetermined(problem)
    lumps = proofs(net, whole, whole)
    proved = Proofs(lumps.certain[lump_of], lumps.excluded[lump_of], lumps.possible[lump_of])
    groups, size, counts, supply = (
        np.rint(each).astype(np.int64)
        for each in (net.over_groups(whole), net.demand, people.counts, net.supply)
    )
    rooms = Rooms(groups, size[:, None] - groups)
    flows = ends(net, lambda _, at: rooms.at(at), values.shape[1], work)
    more = ranges(counts, lump_of, supply, flows, flows)
    worlds = bounded(people, proved, is_exact=not doubts, more=more)
    return believed, worlds, float(placed.gap.max(initial=0.0))
