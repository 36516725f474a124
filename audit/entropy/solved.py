"""A block with its answer: what the search keeps and the certificate looks at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.entropy.posterior import entropies
from treewarden.audit.entropy.reduce import Reduced
from treewarden.audit.solver.task import SEARCHED_PROGRAM, WORTH_A_RESTART, SolverAnswer
from treewarden.ppdm_models.arrays import FloatArray


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
