"""One audit's worlds while they are worked out: what is proved or found stays whatever happens later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.reading import Reading, Undetermined
from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.enumerate import Limits
from treewarden.audit.worlds.found.exact_posterior import Counted, ExactPosterior
from treewarden.audit.worlds.found.open import not_moved
from treewarden.audit.worlds.found.pool import Pool
from treewarden.audit.worlds.proofs.bounds import Bounds
from treewarden.audit.worlds.result import Worlds
from treewarden.ppdm_models.arrays import BoolArray, IntArray

Enough = Callable[[Worlds], bool]
"""Whether nothing that is still open is needed; once it is so it must stay so, however much more is known."""
NOT_DRAWN = Undetermined("the sampler was not run")


def never(worlds: Worlds) -> bool:
    """Ask on, whatever is known."""
    return False


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which tiers run and how far each goes: for tests that put one tier to the proof.

    All limits are numbers of tables or steps, never seconds: as long as the budget lasts, the same input gives the same
    readings on every run. ``draws`` are those of tables that know the true leaf counts, where an adversary does not.
    """

    enumerate: Limits | None = Limits()
    propagate: bool = True
    draws: int = 20
    most_draws: int = 100
    swaps: bool = True
    solver: bool = True
    posterior: bool = True
    seed: int = 0


ALL_TIERS = Tiers()


@dataclass(eq=False)
class Run:
    """What is proved (``bounds``), what was found (``pool``), and what is said of all worlds together.

    ``drawn`` are independent draws. ``said`` is why questions were left, ``said_of_values`` why some were that are only
    about which values are ruled out.
    """

    facts: Facts
    bounds: Bounds
    pool: Pool
    clock: Clock
    posterior: ExactPosterior | Undetermined = NOT_DRAWN
    split_bits: Reading = NOT_DRAWN
    counted: Counted | None = None
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
