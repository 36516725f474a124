"""Which split rows an estimate violates, node by node, and what all rounds of solving come to.

Violated rows are added to the problem for the next round. The end is an estimate, how good it is proved to be, and
which other estimates are as good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.entropy.posterior import entropies
from treewarden.audit.entropy.problem import (
    Block,
    EntropyProblem,
    ProvedShares,
    ViolatedCandidate,
    interval_excess,
    sides,
)
from treewarden.audit.facts.impurity_rows import excesses
from treewarden.audit.progress import counted_by
from treewarden.audit.system.system import System
from treewarden.ppdm_models.arrays import FloatArray, by_rows

if TYPE_CHECKING:  # heavy: for blocks that a solver was asked about
    from treewarden.audit.entropy.reduce import SolvedBlock


VIOLATION_SHARE = 1e-6
"""A split row joins when it is violated by more than this share of its node's records; the re-check's limit too."""
TIE_SHARE = 1e-9
"""Candidates whose violations differ by no more join together: which is first must not depend on their order."""


@dataclass(frozen=True, slots=True)
class Violated:
    """By how much an estimate ``values`` (P, m) breaks split rows; ``over`` by the number of their family."""

    system: System
    values: FloatArray
    over: Mapping[int, FloatArray]

    def worst(
        self, active: Sequence[ViolatedCandidate], solved: Mapping[Block, SolvedBlock]
    ) -> list[ViolatedCandidate]:
        """Return, for each node, the candidate that the estimate violates most, unless it is active already.

        Where several are violated as much, and part the node differently, it is all of them. Nodes above a part that
        was not solved wait: its estimate proves nothing.
        """
        waiting, waits = np.zeros(len(self.values), dtype=bool), False
        for solved_block in solved.values():
            if not solved_block.answer.is_accepted:
                waiting[solved_block.reduced.profiles] = waits = True
        taken: dict[int, list[int]] = {}
        for candidate in active:
            taken.setdefault(candidate.family, []).append(candidate.position)
        found: dict[int, list[tuple[float, ViolatedCandidate]]] = {}
        for number, family in enumerate(self.system.families):
            if waits and waiting[family.profiles].any():
                continue
            over = self.over[number]
            if number in taken:
                over = over.copy()
                over[taken[number]] = -np.inf
            here, most = found.setdefault(family.node, []), float(over.max())
            if most > VIOLATION_SHARE:
                least = max(VIOLATION_SHARE, most - TIE_SHARE)
                here += [
                    (float(over[i]), ViolatedCandidate(number, i))
                    for i in np.flatnonzero(over > least).tolist()
                ]
        return [candidate for here in found.values() for candidate in self._foremost(here)]

    def _foremost(self, violated: list[tuple[float, ViolatedCandidate]]) -> list[ViolatedCandidate]:
        """Return the candidates of one node that are violated most, one for each way to part its profiles."""
        most = max((over for over, _ in violated), default=0.0)
        tied = [candidate for over, candidate in violated if over > most - TIE_SHARE]
        if len(tied) < 2:
            return tied
        violated_candidates: dict[bytes, ViolatedCandidate] = {}
        for candidate in tied:
            violated_candidates.setdefault(_parts(self.system, candidate), candidate)
        return list(violated_candidates.values())


def unseen(problem: EntropyProblem) -> Violated:
    """Return what is known of no estimate yet: NaN differs from every value."""
    return Violated(problem.system, np.full(problem.closed.shape, np.nan), {})


def violated(
    problem: EntropyProblem, values: FloatArray, before: Violated | None = None
) -> Violated:
    """Return by how much an estimate (P, m) breaks split rows.

    A family whose profiles' estimate is as it was ``before`` is not evaluated again.
    """
    before = unseen(problem) if before is None else before
    system, over = problem.system, dict(before.over)
    mass = values * system.case.population.counts[:, None]
    changed = by_rows(np.logical_or, values != before.values)
    everywhere, anywhere = changed.all(), changed.any()
    moved = [
        (number, family)
        for number, family in enumerate(system.families)
        if everywhere or (anywhere and changed[family.profiles].any())
    ]
    intervals = {} if problem.whole is None else problem.whole.intervals
    plain = [each for each in moved if each[0] not in intervals]
    compared = excesses(plain, mass)
    over.update(counted_by(problem.share, compared, len(plain), "comparisons of splits"))
    for number, family in moved:
        if number in intervals:
            over[number] = interval_excess(family, intervals[number], mass)
    return Violated(system, values, over)


def _parts(system: System, candidate: ViolatedCandidate) -> bytes:
    """Return how a candidate parts its node's profiles, whatever its branches are called."""
    family = system.families[candidate.family]
    _, first, side = np.unique(sides(family, candidate), return_index=True, return_inverse=True)
    return first[side].tobytes()


def outside_intervals(whole: ProvedShares, system: System, mass: FloatArray) -> float:
    """Return the largest miss of a split row as whole records say it, per record of its node."""
    misses = (
        float(interval_excess(system.families[number], ends, mass).max(initial=0.0))
        for number, ends in whole.intervals.items()
    )
    return max(misses, default=0.0)


@dataclass(frozen=True, slots=True)
class Certificate:
    """``bound`` on the entropy in nats per record, and the arguments that prove it, most general last."""

    bound: float
    argument: str


@dataclass(frozen=True, slots=True)
class EstimateSpan:
    """Ends (P, m) between which estimates lie that are equally good, and how many blocks have more than one.

    ``flat`` counts the blocks with a flat optimum, ``several`` those with optima apart from each other.
    """

    low: FloatArray
    high: FloatArray
    flat: int
    several: int


@dataclass(frozen=True, slots=True)
class SolvedRounds:
    """The blocks that were ``solved``, and what was ``seen`` of split rows at the estimate (P, m) that they make.

    ``relaxed`` (P, m) is the estimate that knows no split rows, of which ``rows_active`` were needed.
    """

    solved: Mapping[Block, SolvedBlock]
    seen: Violated
    relaxed: FloatArray
    rows_active: int
    span: EstimateSpan
    certificate: Certificate


def closed_form_rounds(problem: EntropyProblem, seen: Violated) -> SolvedRounds:
    """Return what it comes to where the closed form breaks no row: nothing is solved, and no other is as good."""
    counts, values = problem.system.case.population.counts, seen.values
    total = float(entropies(values, counts).sum())
    span = EstimateSpan(values.copy(), values.copy(), flat=0, several=0)
    proved = Certificate(total / float(counts.sum()), "closed form")
    return SolvedRounds({}, seen, values, rows_active=0, span=span, certificate=proved)
