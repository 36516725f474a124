"""What the rounds of solving come to: the estimate, how good it is proved to be, and which others are as good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treewarden.audit.entropy.blocks import Block
from treewarden.audit.entropy.posterior import entropies
from treewarden.audit.entropy.problem import EntropyProblem
from treewarden.audit.entropy.violated import Violated
from treewarden.ppdm_models.arrays import FloatArray

if TYPE_CHECKING:  # heavy: for blocks that a solver was asked about
    from treewarden.audit.entropy.solved import SolvedBlock


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
