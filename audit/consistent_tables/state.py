"""One audit's worlds while they are worked out: what is proved or found stays whatever happens later."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.clock import Clock
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.proofs.bounds import CellBounds
from treewarden.audit.consistent_tables.witnesses.enumerate import EnumerationLimits
from treewarden.audit.consistent_tables.witnesses.exact_posterior import (
    ExactPosterior,
    TableNumbers,
)
from treewarden.audit.consistent_tables.witnesses.witness_pool import WitnessPool, not_moved
from treewarden.audit.reading import Reading, Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IntArray

NOT_DRAWN = Undetermined("the sampler was not run")


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which tiers run and how far each goes: for tests that put one tier to the proof.

    All limits are numbers of tables or steps, never seconds: as long as the budget lasts, the same input gives the same
    readings on every run. ``draws`` are those of tables that know the true leaf counts, where an adversary does not.
    """

    enumerate: EnumerationLimits | None = EnumerationLimits()
    propagate: bool = True
    draws: int = 20
    most_draws: int = 100
    swaps: bool = True
    solver: bool = True
    posterior: bool = True
    seed: int = 0


ALL_TIERS = Tiers()


@dataclass(eq=False)
class ReasoningState:
    """What is proved (``bounds``), what was found (``pool``), and what is said of all worlds together.

    ``drawn`` are independent draws. ``said`` is why questions were left, ``said_of_values`` why some were that are only
    about which values are ruled out.
    """

    facts: Facts
    bounds: CellBounds
    pool: WitnessPool
    clock: Clock
    posterior: ExactPosterior | Undetermined = NOT_DRAWN
    split_bits: Reading = NOT_DRAWN
    counted: TableNumbers | None = None
    drawn: list[IntArray] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    said_of_values: list[str] = field(default_factory=list)

    @property
    def not_moved(self) -> BoolArray:
        """The cells that no world moves, where it is not proved that none does, shape (P, m)."""
        return not_moved(self.facts, self.bounds, self.pool)

    def worst(self, most: int) -> list[int]:
        """Return the positions that come nearest to being certain without being so, nearest first."""
        size = self.facts.counts
        share = self.pool.low / np.maximum(size, 1)[:, None]
        if isinstance(self.posterior, ExactPosterior):
            share = self.posterior.values
        near = share.max(axis=1)
        open_ = np.flatnonzero(~(self.bounds.low == size[:, None]).any(axis=1) & (size > 0))
        order = np.argsort(-near[open_], kind="stable")[:most]
        return [int(position) for position in open_[order]]
