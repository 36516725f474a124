"""Parts the problem into blocks that do not touch each other, so that each can be solved alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.facts.rows import SplitFamily, branch_of_bins
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import IndexArray


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
    for root, members in groups.items():
        rows = [what for joined, what in touched if joined and _root(parent, joined[0]) == root]
        candidates = tuple(
            sorted(
                (r for r in rows if isinstance(r, ViolatedCandidate)),
                key=lambda c: (c.family, c.position),
            )
        )
        found.append(
            Block(tuple(members), candidates, tuple(r for r in rows if isinstance(r, int)))
        )
    return tuple(sorted(found, key=lambda block: block.leaves))


def _stops(leaf: IndexArray, profiles: IndexArray) -> list[int]:
    return [int(node) for node in np.unique(leaf[profiles])]


def _root(parent: dict[int, int], leaf: int) -> int:
    while parent[leaf] != leaf:
        parent[leaf] = parent[parent[leaf]]
        leaf = parent[leaf]
    return leaf
