"""Which split rows an estimate violates, node by node: what the next round adds to the problem."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audit.estimate.blocks import Block, Candidate
from audit.estimate.reduce import sides
from audit.estimate.search import Search
from audit.estimate.solved import Solved
from audit.estimate.whole_records import WholeRecords, interval_excess
from audit.facts.impurity import excess
from audit.facts.rows import SplitFamily
from audit.system.system import System
from ppdm_models.arrays import FloatArray

VIOLATION_SHARE = 1e-6
"""A split row joins when it is violated by more than this share of its node's records; the re-check's limit too."""
TIE_SHARE = 1e-9
"""Candidates whose violations differ by no more join together: which is first must not depend on their order."""


class Violated:
    """Finds violated split rows; a family whose profiles' estimate stays as it was is not evaluated again."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._families = tuple(enumerate(search.system.families))
        self._over: dict[int, FloatArray] = {}
        self._values = np.full(search.closed.shape, np.nan)

    def worst(
        self, values: FloatArray, active: Sequence[Candidate], solved: dict[Block, Solved]
    ) -> list[Candidate]:
        """Return, for each node, the candidate that an estimate (P, m) violates most, unless it is active already.

        Where several are violated as much, and part the node differently, it is all of them. Nodes above a part that
        was not solved wait: its estimate proves nothing.
        """
        population = self._search.system.case.population
        self._evaluate(values, values * population.counts[:, None])
        waiting = np.zeros(len(population.counts), dtype=bool)
        for one in solved.values():
            if not one.answer.is_accepted:
                waiting[one.reduced.profiles] = True
        taken: dict[int, list[int]] = {}
        for candidate in active:
            taken.setdefault(candidate.family, []).append(candidate.position)
        found: dict[int, list[tuple[float, Candidate]]] = {}
        for number, family in self._families:
            if waiting[family.profiles].any():
                continue
            over = self._over[number]
            if number in taken:
                over = over.copy()
                over[taken[number]] = -np.inf
            here = found.setdefault(family.node, [])
            least = max(VIOLATION_SHARE, float(over.max()) - TIE_SHARE)
            here += [
                (float(over[i]), Candidate(number, i))
                for i in np.flatnonzero(over > least).tolist()
            ]
        return [candidate for here in found.values() for candidate in self._foremost(here)]

    def _foremost(self, violated: list[tuple[float, Candidate]]) -> list[Candidate]:
        """Return the candidates of one node that are violated most, one for each way to part its profiles."""
        most = max((over for over, _ in violated), default=0.0)
        tied = [candidate for over, candidate in violated if over > most - TIE_SHARE]
        if len(tied) < 2:
            return tied
        kept: dict[bytes, Candidate] = {}
        for candidate in tied:
            kept.setdefault(_parts(self._search.system, candidate), candidate)
        return list(kept.values())

    def _evaluate(self, values: FloatArray, mass: FloatArray) -> None:
        changed = (values != self._values).any(axis=1)
        self._values = values
        for number, family in self._families:
            if changed[family.profiles].any():
                self._over[number] = _excess(self._search.whole, number, family, mass)


def _parts(system: System, candidate: Candidate) -> bytes:
    """Return how a candidate parts its node's profiles, whatever its branches are called."""
    family = system.families[candidate.family]
    _, first, side = np.unique(sides(family, candidate), return_index=True, return_inverse=True)
    return first[side].tobytes()


def outside_intervals(whole: WholeRecords, system: System, mass: FloatArray) -> float:
    """Return the largest miss of a split row as whole records say it, per record of its node."""
    misses = (
        float(interval_excess(system.families[number], ends, mass).max(initial=0.0))
        for number, ends in whole.intervals.items()
    )
    return max(misses, default=0.0)


def _excess(
    whole: WholeRecords | None, number: int, family: SplitFamily, mass: FloatArray
) -> FloatArray:
    if whole is not None and number in whole.intervals:
        return interval_excess(family, whole.intervals[number], mass)
    return excess(family, mass)
