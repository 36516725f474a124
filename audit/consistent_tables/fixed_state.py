"""What is known when questions are put, in a form that travels: once what stays the same, and what moved since then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.proofs.bounds import CellBounds
from treewarden.audit.consistent_tables.proofs.linear import IntegerRows
from treewarden.audit.consistent_tables.proofs.relax import LearnedCuts, Ref
from treewarden.audit.consistent_tables.witnesses.witness_pool import Swap, WitnessPool
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IndexArray, IntArray

NOBODY = np.zeros(0, dtype=np.intp)
NO_BINS = np.zeros(0, dtype=np.int32)
NOT_SAID = Undetermined("the policy does not need it")
Ends = tuple[IntArray, IntArray, IntArray, IntArray]
"""The least and the greatest count of each cell that is proved, and the same that worlds reach, shape (P, m) each."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedState:
    """What stays the same: the facts, the first world (P, m), and the ends of each cell when questions began.

    ``plain`` is kept for those who ask here, and does not travel: see ``LearnedCuts``.
    """

    facts: Facts
    first: IntArray
    ends: Ends
    plain: dict[int, IntegerRows] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Callable[..., FixedState], tuple[Facts, IntArray, Ends]]:
        """Return what travels."""
        return FixedState, (self.facts, self.first, self.ends)

    def since(
        self,
        bounds: CellBounds,
        pool: WitnessPool,
        lines: Mapping[int, Mapping[Ref, None]],
        met: Mapping[int, Mapping[Ref, None]],
    ) -> Since:
        """Return what has changed by now."""
        now = bounds.low, bounds.high, pool.low, pool.high
        places = [np.flatnonzero(a != b) for a, b in zip(self.ends, now, strict=True)]
        moved = tuple((at, end.ravel()[at]) for at, end in zip(places, now, strict=True))
        return Since(
            moved, *({node: tuple(refs) for node, refs in each.items()} for each in (lines, met))
        )


@dataclass(frozen=True, slots=True, eq=False)
class Since:
    """What has changed: each end's cells that moved (flat) and where they are now, and what was learned."""

    moved: tuple[tuple[IndexArray, IntArray], ...]
    lines: Mapping[int, tuple[Ref, ...]]
    met: Mapping[int, tuple[Ref, ...]]

    def over(self, start: FixedState) -> tuple[CellBounds, RecordedPool, LearnedCuts]:
        """Return all that is known now, to be changed by whoever asks."""
        low, high, least, most = (end.copy() for end in start.ends)
        for end, (at, values) in zip((low, high, least, most), self.moved, strict=True):
            end.ravel()[at] = values
        pool = RecordedPool(start.facts, [start.first], size=1)
        pool.low, pool.high = least, most
        return CellBounds(low, high), pool, LearnedCuts(self.lines, self.met, start.plain)


@dataclass(eq=False)
class RecordedPool(WitnessPool):
    """A pool that begins with the first world alone, and notes what is added: each world with its neighbours."""

    worlds: list[tuple[IntArray, list[Swap]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Leave the ends to whoever knows them."""

    def add(self, tables: IntArray) -> None:
        """Add worlds, shape (K, P, m), that were checked."""
        super().add(tables)
        self.worlds += [(table, []) for table in tables]

    def add_swap(self, base: int, swap: Swap) -> None:
        """Note a checked neighbour of the newest world."""
        super().add_swap(base, swap)
        self.worlds[-1][1].append(swap)


def start_of(facts: Facts, bounds: CellBounds, pool: WitnessPool) -> FixedState:
    """Return what is known when questions begin, once there is a world."""
    ends = bounds.low.copy(), bounds.high.copy(), pool.low.copy(), pool.high.copy()
    return FixedState(_without_people(facts), pool.tables[0], ends)


def _without_people(facts: Facts) -> Facts:
    """Return the facts without what no question needs: the columns of people, and arrays that splits were made of."""
    case = facts.case
    people = Population((), {}, case.population.counts, case.population.leaf, NOT_SAID)
    splits = {node: tuple(map(_lean, found)) for node, found in facts.splits.items()}
    return replace(facts, case=Case(case.tree, people, case.members, Knowledge()), splits=splits)


def _lean(split: AttributeSplits) -> AttributeSplits:
    family = replace(split.family, profiles=NOBODY, chosen=NOBODY, bins=NO_BINS, weights=None)
    return replace(split, family=family)
